// Secrets: what must not reach a log, a manifest or a report: values of passwords, tokens, keys and secrets.
//
// Masked: TOKEN=value, "api_key": "value", --password value, scheme://user:value@host. By hand and in one pass: tools'
// output can be megabytes in one line, which a backtracking regular expression does not survive.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace hone::run {

// The text with every such value replaced by "***".
std::string mask_secrets(std::string_view text);

}  // namespace hone::run
