// SPDX-License-Identifier: Apache-2.0
#include "run/secrets.h"

#include <array>
#include <cctype>

namespace hone::run {

namespace {

constexpr std::array<std::string_view, 8> kWords = {"password", "passwd",  "passphrase", "token",
                                                    "secret",   "api_key", "access_key", "private_key"};

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// True when `text` has `word` at `at`; "-" stands for "_" too.
bool word_at(std::string_view text, size_t at, std::string_view word) {
  if (text.size() - at < word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    const char c = lower(text[at + i]);
    if ((c == '-' ? '_' : c) != word[i]) return false;
  }
  return true;
}

bool is_value(char c) {
  return std::isspace(static_cast<unsigned char>(c)) == 0 && c != '"' && c != '\'' && c != ',' && c != ';';
}

// True when the word that holds position `at` begins with "--".
bool in_flag(std::string_view text, size_t at) {
  size_t start = at;
  while (start > 0 && (std::isalnum(static_cast<unsigned char>(text[start - 1])) != 0 || text[start - 1] == '_' ||
                       text[start - 1] == '-'))
    --start;
  return text.substr(start, 2) == "--";
}

// After a secret's word that ends at `at`: where its value starts, or npos. A word after "--" may have its value after
// a space; elsewhere only = and : count ("token ids" in a note is no secret).
size_t value_after(std::string_view text, size_t at, bool flag) {
  auto skip = [&](auto wanted) {
    while (at < text.size() && wanted(text[at])) ++at;
  };
  const size_t word_end = at;
  skip([](char c) { return c == '"' || c == '\''; });
  skip([](char c) { return c == ' '; });
  if (at < text.size() && (text[at] == '=' || text[at] == ':'))
    ++at;
  else if (!flag || at == word_end)
    return std::string_view::npos;
  skip([](char c) { return c == ' ' || c == '"' || c == '\''; });
  return at;
}

// The end of "user:value" of a login that starts at `at`, right after "://": the position of '@' and of ':', or false.
bool login(std::string_view text, size_t at, size_t* colon, size_t* sign) {
  *colon = std::string_view::npos;
  for (size_t i = at; i < text.size() && std::isspace(static_cast<unsigned char>(text[i])) == 0 && text[i] != '/';
       ++i) {
    if (text[i] == ':' && *colon == std::string_view::npos) *colon = i;
    if (text[i] == '@') {
      *sign = i;
      return *colon != std::string_view::npos;
    }
  }
  return false;
}

}  // namespace

std::string mask_secrets(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t at = 0;
  while (at < text.size()) {
    size_t colon = 0, sign = 0;
    if (text.substr(at, 3) == "://" && login(text, at + 3, &colon, &sign)) {
      out += text.substr(at, colon + 1 - at);
      out += "***";
      at = sign;
      continue;
    }
    size_t value = std::string_view::npos;
    for (std::string_view word : kWords) {
      if (!word_at(text, at, word)) continue;
      const bool flag = in_flag(text, at);
      value = value_after(text, at + word.size(), flag);
      break;
    }
    if (value == std::string_view::npos || value >= text.size() || !is_value(text[value])) {
      out += text[at++];
      continue;
    }
    out += text.substr(at, value - at);
    out += "***";
    at = value;
    while (at < text.size() && is_value(text[at])) ++at;
  }
  return out;
}

}  // namespace hone::run
