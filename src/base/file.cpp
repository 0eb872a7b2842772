// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/hash.h"

namespace hone {

namespace {

Error errno_error(std::string what, const fs::path& path, ErrorKind kind = ErrorKind::kIo) {
  const int code = errno;
  Error error{kind, std::move(what) + " (" + std::strerror(code) + ")", path.string(), {}, {}};
  if (code == ENOSPC || code == EDQUOT) error.todo = "free some space and try again";
  if (code == EACCES || code == EROFS || code == EPERM) error.todo = "check the permissions of the folder";
  return error;
}

}  // namespace

Result<std::string> read_file(const fs::path& path) {
  auto file = HONE_TRY(MappedFile::open(path));
  auto bytes = file->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string first_line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const fs::path& path) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = path;
  // Not blocking: a named pipe would wait for a writer. On regular files the flag has no effect.
  file->descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file->descriptor_ < 0) return fail(errno_error("can't open file", path, ErrorKind::kBadInput));
  struct stat info {};
  if (::fstat(file->descriptor_, &info) != 0) return fail(errno_error("can't read file", path, ErrorKind::kBadInput));
  if (S_ISDIR(info.st_mode)) return fail(bad_input("is a folder, not a file", path.string()));
  if (!S_ISREG(info.st_mode)) return fail(bad_input("is not a regular file", path.string()));
  file->size_ = static_cast<size_t>(info.st_size);
  if (file->size_ > 0) {
    void* data = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, file->descriptor_, 0);
    if (data == MAP_FAILED) return fail(errno_error("can't map file", path));
    file->data_ = static_cast<const std::byte*>(data);
  }
  return std::shared_ptr<const MappedFile>(std::move(file));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<AtomicFile> AtomicFile::create(const fs::path& path) {
  fs::path temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return fail(errno_error("can't write file", path));
  return AtomicFile(path, std::move(temporary), descriptor);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

Status AtomicFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno_error("can't write file", path_));
    text.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  return write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Status AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) return fail(errno_error("can't sync file", path_));
  ::close(descriptor_);
  descriptor_ = -1;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    Error error = errno_error("can't rename file", path_);
    ::unlink(temporary_.c_str());
    return fail(std::move(error));
  }
  return {};
}

Status write_file(const fs::path& path, std::string_view text) {
  auto file = HONE_TRY(AtomicFile::create(path));
  HONE_TRY(file.write(text));
  return file.commit();
}

Status make_directories(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) return fail(io_error("can't make folder (" + code.message() + ")", path.string()));
  return {};
}

Result<ScratchFolder> ScratchFolder::create(std::string_view prefix) {
  std::error_code code;
  fs::path base = fs::temp_directory_path(code);
  if (code) base = "/tmp";
  std::string name = (base / fmt::format("{}-XXXXXX", prefix)).string();
  if (::mkdtemp(name.data()) == nullptr) return fail(errno_error("can't make a temporary folder", name));
  return ScratchFolder(name);
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Result<std::string> sha256_of_file(const fs::path& path) {
  auto file = HONE_TRY(MappedFile::open(path));
  return Sha256().add(file->bytes()).hex();
}

fs::path cache_folder() {
  const char* base = std::getenv("XDG_CACHE_HOME");
  if (base != nullptr && *base == '/') return fs::path(base) / "hone";  // the specification ignores relative ones
  const char* home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? fs::path(home) / ".cache/hone" : fs::path();
}

}  // namespace hone
