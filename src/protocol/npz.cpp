// npz: a zip of .npy arrays, read and written with libarchive. Written stored, not deflated: workers read and write
// samples all the time, and float data hardly shrinks. Read only through the central directory, so that a truncated
// archive is refused and not read in part.
// SPDX-License-Identifier: Apache-2.0
#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <locale.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "protocol/data.h"
#include "protocol/npy.h"

namespace hone::protocol {

using model::NamedTensors;
using model::Tensor;

namespace {

// Deflate shrinks no data by more than this (zlib's own documentation: 1032:1); a larger claim is a lie.
constexpr uint64_t kMaxDeflateRatio = 1032;

struct FreeReader {
  void operator()(archive* a) const { archive_read_free(a); }
};
struct FreeWriter {
  void operator()(archive* a) const { archive_write_free(a); }
};
struct FreeEntry {
  void operator()(archive_entry* e) const { archive_entry_free(e); }
};

// libarchive gives and takes names in the locale's encoding. Names are UTF-8 whatever the user's locale is, so this
// thread gets a UTF-8 one for as long as an archive is open.
class Utf8Names {
 public:
  Utf8Names() : utf8_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)), before_(::uselocale(utf8_)) {}
  ~Utf8Names() {
    ::uselocale(before_);
    if (utf8_ != nullptr) ::freelocale(utf8_);
  }
  Utf8Names(const Utf8Names&) = delete;

 private:
  locale_t utf8_, before_;
};

std::string reason(archive* a) {
  const char* text = archive_error_string(a);
  return text != nullptr ? text : "unknown reason";
}

uint64_t machine_memory() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGE_SIZE));
}

// "x.npy" -> "x".
Result<std::string> array_name(archive_entry* entry, const std::string& where) {
  const char* path = archive_entry_pathname_utf8(entry);
  if (path == nullptr) path = archive_entry_pathname(entry);
  if (path == nullptr) return fail(bad_input("an entry of the .npz has no readable name", where));
  std::string name(path);
  if (!name.ends_with(".npy"))
    return fail(bad_input(fmt::format("an entry of the .npz is no .npy array: '{}'", name), where));
  name.resize(name.size() - 4);
  return name;
}

Status check_size(archive_entry* entry, uint64_t archive_size, uint64_t& total, const std::string& where) {
  if (archive_entry_size_is_set(entry) == 0 || archive_entry_size(entry) < 0)
    return fail(bad_input("the .npz does not say how long an entry is", where));
  const auto size = static_cast<uint64_t>(archive_entry_size(entry));
  if (size / kMaxDeflateRatio > archive_size)
    return fail(
        bad_input(fmt::format("entry claims {} bytes, more than {} bytes of archive can hold", size, archive_size),
                  where, "the file is damaged"));
  total += size;
  if (total > machine_memory() / 2)
    return fail(bad_input(fmt::format("arrays take {} bytes, more than half of this machine's memory", total), where,
                          "use fewer or smaller samples"));
  return {};
}

Result<Tensor> read_entry(archive* a, archive_entry* entry, const std::string& where) {
  const ReadBytes read = [&](std::span<std::byte> out) -> Status {
    while (!out.empty()) {
      const la_ssize_t n = archive_read_data(a, out.data(), out.size());
      if (n < 0) return fail(bad_input("entry can't be read (" + reason(a) + ")", where, "the file is damaged"));
      if (n == 0) return fail(bad_input("entry is shorter than it says", where, "the file is truncated or damaged"));
      out = out.subspan(static_cast<size_t>(n));
    }
    return {};
  };
  Tensor tensor = HONE_TRY(decode_npy(read, static_cast<uint64_t>(archive_entry_size(entry)), where));
  std::byte more;
  const la_ssize_t n = archive_read_data(a, &more, 1);  // at the end libarchive compares the checksum
  if (n != 0) return fail(bad_input("entry is damaged (" + (n > 0 ? "longer than it says" : reason(a)) + ")", where));
  return tensor;
}

// An archive without entries is its end record and nothing else (APPNOTE.TXT 4.3.16); libarchive takes it for no zip.
// It is the sample of a model without inputs, and what numpy writes for no arrays.
bool is_empty_archive(std::span<const std::byte> bytes) {
  constexpr size_t kEndRecord = 22;
  constexpr std::array<std::byte, 4> kSignature = {std::byte{'P'}, std::byte{'K'}, std::byte{5}, std::byte{6}};
  if (bytes.size() != kEndRecord || !std::equal(kSignature.begin(), kSignature.end(), bytes.begin())) return false;
  return std::all_of(bytes.begin() + kSignature.size(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Result<NamedTensors> read_npz(const fs::path& path) {
  const auto file = HONE_TRY(MappedFile::open(path));
  if (is_empty_archive(file->bytes())) return NamedTensors{};
  const Utf8Names utf8_names;
  const std::unique_ptr<archive, FreeReader> a(archive_read_new());
  archive_read_support_format_zip_seekable(a.get());
  archive_read_set_options(a.get(), "hdrcharset=UTF-8");
  if (archive_read_open_memory(a.get(), file->bytes().data(), file->bytes().size()) != ARCHIVE_OK)
    return fail(bad_input("not a .npz file (" + reason(a.get()) + ")", path.string()));
  NamedTensors out;
  uint64_t total = 0;
  while (true) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(a.get(), &entry);
    if (status == ARCHIVE_EOF) return out;
    if (status < ARCHIVE_WARN)
      return fail(bad_input("not a whole .npz file (" + reason(a.get()) + ")", path.string(),
                            "it may be truncated: write it again"));
    std::string name = HONE_TRY(array_name(entry, path.string()));
    const std::string where = path.string() + ": " + name;
    HONE_TRY(check_size(entry, file->bytes().size(), total, where));
    Tensor tensor = HONE_TRY(read_entry(a.get(), entry, where));
    auto named = undo_suffix(std::move(name), std::move(tensor));
    if (find_tensor(out, named.first) != nullptr) return fail(bad_input("array is in the .npz twice", where));
    out.push_back(std::move(named));
  }
}

namespace {

struct Target {
  AtomicFile file;
  std::optional<Error> error;
};

la_ssize_t write_target(archive*, void* user, const void* data, size_t size) {
  auto* target = static_cast<Target*>(user);
  const Status status = target->file.write(std::span(static_cast<const std::byte*>(data), size));
  if (status) return static_cast<la_ssize_t>(size);
  target->error = status.error();
  return -1;
}

Status write_entry(archive* a, const std::string& name, const EncodedNpy& npy, const std::string& where) {
  const auto refused = [&] { return fail(io_error("can't write array (" + reason(a) + ")", where)); };
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  archive_entry_update_pathname_utf8(entry.get(), (name + npy.suffix + ".npy").c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_mtime(entry.get(), 0, 0);  // the same arrays make the same file
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(npy.header.size() + npy.body.byte_size()));
  if (archive_write_header(a, entry.get()) < ARCHIVE_WARN) return refused();
  std::span<const std::byte> rest = npy.body.bytes();
  if (archive_write_data(a, npy.header.data(), npy.header.size()) < 0) return refused();
  while (!rest.empty()) {
    const la_ssize_t n = archive_write_data(a, rest.data(), rest.size());
    if (n <= 0) return refused();
    rest = rest.subspan(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

Status write_npz(const fs::path& path, const NamedTensors& tensors) {
  Target target{HONE_TRY(AtomicFile::create(path)), {}};
  {
    const Utf8Names utf8_names;
    const std::unique_ptr<archive, FreeWriter> a(archive_write_new());
    archive_write_set_format_zip(a.get());
    archive_write_zip_set_compression_store(a.get());
    archive_write_set_options(a.get(), "hdrcharset=UTF-8");
    archive_write_set_bytes_per_block(a.get(), 0);  // large arrays go straight to the file
    Status status;
    if (archive_write_open(a.get(), &target, nullptr, write_target, nullptr) != ARCHIVE_OK)
      status = fail(io_error("can't write .npz (" + reason(a.get()) + ")", path.string()));
    for (const auto& [name, tensor] : tensors) {
      if (!status) break;
      const std::string where = path.string() + ": " + name;
      auto npy = encode_npy(tensor, where);
      status = npy ? write_entry(a.get(), name, *npy, where) : Status(fail(npy.error()));
    }
    if (status && archive_write_close(a.get()) != ARCHIVE_OK)
      status = fail(io_error("can't write .npz (" + reason(a.get()) + ")", path.string()));
    if (target.error) return fail(*target.error);
    if (!status) return status;
  }
  return target.file.commit();
}

Result<Tensor> read_npy(const fs::path& path) {
  const auto file = HONE_TRY(MappedFile::open(path));
  std::span<const std::byte> rest = file->bytes();
  const ReadBytes read = [&](std::span<std::byte> out) -> Status {
    if (out.size() > rest.size()) return fail(bad_input("file is shorter than it says", path.string()));
    std::copy_n(rest.begin(), out.size(), out.begin());
    rest = rest.subspan(out.size());
    return {};
  };
  return decode_npy(read, file->bytes().size(), path.string());
}

}  // namespace hone::protocol
