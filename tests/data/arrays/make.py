#!/usr/bin/env python3
# Writes the arrays beside it with numpy: what hone's reader is tested against.
# SPDX-License-Identifier: Apache-2.0
import io, os, struct, zipfile
import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))
a = np.arange(6, dtype=np.float32).reshape(2, 3)
np.savez("numpy.npz", f4=a, f8=a.astype("f8"), f2=a.astype("f2"), i1=np.array([-1, 2], "i1"), u8=np.array([2**64 - 1], "u8"),
         b=np.array([True, False]), scalar=np.int64(7), empty=np.zeros((0, 4), "f4"), fortran=np.asfortranarray(np.arange(24).reshape(2, 3, 4)),
         big=a.astype(">f4"), text=np.array(["", "schön", "日本"]), raw=np.array([b"ab", b"c"]),
         nan=np.array([np.nan, np.inf, -np.inf], "f4"), c=np.array([1 + 2j], "c8"), **{"übung/a:0": a})
np.savez_compressed("deflated.npz", zeros=np.zeros((100, 100), "i8"), a=a)
np.savez("pickled.npz", x=np.array([{"a": 1}, None], dtype=object))
np.savez("fields.npz", x=np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
np.savez("long_double.npz", x=np.zeros(2, dtype=np.longdouble))
np.save("single.npy", a)
b = np.zeros(2, dtype="V2")  # what ml_dtypes writes for bfloat16: 1.0, -2.0
b.view("u2")[:] = [0x3F80, 0xC000]
np.save("bfloat16.npy", b)


def npy(header, payload=b"", version=1):
    h = header.encode() + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(h)) + h + payload


def put(name, data):
    open(name, "wb").write(data)


put("short.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", b"\0" * 20))
put("huge.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 16), }"))
put("negative.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"))
put("header_lies.npy", b"\x93NUMPY\x01\x00\xff\xff{'descr'")
put("header_huge.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", 0x7FFFFFFF) + b"{")
put("not_python.npy", npy("import os; os.system('true')"))
put("version9.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", version=9))
put("other.npz", b"PK but no zip at all")
whole = open("numpy.npz", "rb").read()
put("truncated.npz", whole[: len(whole) // 2])
with zipfile.ZipFile("no_array.npz", "w") as z:
    z.writestr("readme.txt", "hello")
with zipfile.ZipFile("twice.npz", "w") as z:
    import warnings
    warnings.simplefilter("ignore")
    z.writestr("x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }"))
    z.writestr("x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }"))
# A zip whose directory claims 16 EiB-ish for an entry of few bytes.
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w") as z:
    z.writestr("x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", b"\0" * 4))
data = bytearray(buffer.getvalue())
at = data.rindex(b"PK\x01\x02")
data[at + 24:at + 28] = struct.pack("<I", 0xFFFFFFF0)
data[22:26] = struct.pack("<I", 0xFFFFFFF0)
put("bomb.npz", bytes(data))
# One bit of an element flipped: the checksum must tell.
data = bytearray(open("numpy.npz", "rb").read())
at = data.index(struct.pack("<6f", *range(6)))
data[at + 5] ^= 1
put("flipped.npz", bytes(data))
