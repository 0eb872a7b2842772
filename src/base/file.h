// Files: read whole, map, and write so that a reader sees the old file or the new one and nothing between
// (temporary name, sync, rename; product.md rule 4).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone {

namespace fs = std::filesystem;

Result<std::string> read_file(const fs::path& path);
// The first line, empty when there is none to read: how sysfs says one thing a file.
std::string first_line_of(const fs::path& path);

// A read-only memory mapping of a whole file; unmapped when the last owner goes. An empty file maps to an empty span.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const fs::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  int descriptor() const { return descriptor_; }
  const fs::path& path() const { return path_; }

 private:
  MappedFile() = default;
  fs::path path_;
  int descriptor_ = -1;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Writes a file under `path.PID.tmp`, syncs it, renames it when commit() is called. Not committed = removed.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const fs::path& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();
  Status write(std::string_view text);
  Status write(std::span<const std::byte> bytes);
  int descriptor() const { return descriptor_; }
  Status commit();

 private:
  AtomicFile(fs::path path, fs::path temporary, int descriptor)
      : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}
  fs::path path_, temporary_;
  int descriptor_ = -1;
};

Status write_file(const fs::path& path, std::string_view text);
Status make_directories(const fs::path& path);
// A fresh folder for temporary files, removed with all it holds by the destructor.
class ScratchFolder {
 public:
  static Result<ScratchFolder> create(std::string_view prefix);
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  const fs::path& path() const { return path_; }

 private:
  explicit ScratchFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

Result<std::string> sha256_of_file(const fs::path& path);

// Where hone keeps what it measured once per machine: $XDG_CACHE_HOME/hone or ~/.cache/hone; empty when there is
// neither.
fs::path cache_folder();

}  // namespace hone
