// The journal's tables, version 1. A change of the tables raises kSchemaVersion (journal.h); an older journal is read
// by the hone that made it, and says so. Documents (JSON) hold whole values; columns hold what one asks a database:
// "which trials of this change were kept", "all blocks of instance pair 3".
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace hone::run {

inline constexpr const char* kSchema = R"sql(
CREATE TABLE run (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  id TEXT NOT NULL, created TEXT NOT NULL, ended TEXT NOT NULL, hone_version TEXT NOT NULL,
  progress INTEGER NOT NULL, elapsed_s REAL NOT NULL, plan TEXT NOT NULL,
  model_sha256 TEXT NOT NULL, model_bytes INTEGER NOT NULL,
  has_reference INTEGER NOT NULL, stops TEXT NOT NULL) STRICT;
CREATE TABLE environment (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE protocol (
  hash TEXT PRIMARY KEY, document TEXT NOT NULL, data_source TEXT NOT NULL, data_notes TEXT NOT NULL) STRICT;
CREATE TABLE change (
  key TEXT PRIMARY KEY, change TEXT NOT NULL, class TEXT NOT NULL, finding TEXT NOT NULL, predicted REAL NOT NULL,
  upper_bound REAL NOT NULL, open INTEGER NOT NULL, position INTEGER NOT NULL, document TEXT NOT NULL) STRICT;
CREATE TABLE trial (
  number INTEGER PRIMARY KEY, parent INTEGER NOT NULL, stage TEXT NOT NULL, state TEXT NOT NULL,
  change TEXT NOT NULL, kind TEXT NOT NULL, proposal TEXT NOT NULL, configuration TEXT NOT NULL, summary TEXT NOT NULL,
  nodes_before INTEGER NOT NULL, nodes_after INTEGER NOT NULL, accuracy TEXT,
  verdict TEXT, reason TEXT, noise INTEGER, original_estimate REAL, original_low REAL, original_high REAL,
  dir TEXT NOT NULL, started TEXT NOT NULL, seconds REAL NOT NULL) STRICT;
CREATE TABLE measurement (
  id INTEGER PRIMARY KEY, trial INTEGER NOT NULL, purpose TEXT NOT NULL, protocol TEXT NOT NULL,
  document TEXT NOT NULL, samples_ms BLOB, UNIQUE (trial, purpose)) STRICT;
CREATE TABLE block (
  measurement INTEGER NOT NULL, row INTEGER NOT NULL, pair INTEGER NOT NULL, slot INTEGER NOT NULL,
  side TEXT NOT NULL, pid INTEGER NOT NULL, place TEXT NOT NULL, invalid TEXT NOT NULL,
  start_s REAL, settle_iterations INTEGER, iterations INTEGER,
  min REAL, q10 REAL, q25 REAL, q50 REAL, q75 REAL, q90 REAL, max REAL, mean REAL,
  ping_before_ns REAL, ping_after_ns REAL, fma0_before_ms REAL, fma1_before_ms REAL, fma0_after_ms REAL,
  fma1_after_ms REAL, timed_s REAL, pressure REAL, own_cpu_s REAL, busy_cpu_s REAL,
  steal_s REAL, run_queue_wait_s REAL, involuntary_switches INTEGER, minor_faults INTEGER,
  PRIMARY KEY (measurement, row)) STRICT, WITHOUT ROWID;
CREATE TABLE look (
  measurement INTEGER NOT NULL, number INTEGER NOT NULL, place TEXT NOT NULL, pairs INTEGER NOT NULL, mean REAL,
  sd REAL, floor_used INTEGER, level REAL, low REAL, high REAL, sample_sd REAL,
  PRIMARY KEY (measurement, number)) STRICT, WITHOUT ROWID;
CREATE TABLE profile (trial INTEGER PRIMARY KEY, dir TEXT NOT NULL, diagnosis TEXT NOT NULL) STRICT;
CREATE TABLE finding (
  trial INTEGER NOT NULL, rank INTEGER NOT NULL, id TEXT NOT NULL, priority INTEGER NOT NULL, title TEXT NOT NULL,
  evidence TEXT NOT NULL, direction TEXT NOT NULL, share REAL, upper_bound REAL,
  PRIMARY KEY (trial, rank)) STRICT, WITHOUT ROWID;
CREATE TABLE screen (
  best INTEGER NOT NULL, engine TEXT NOT NULL, key TEXT NOT NULL, speedup REAL NOT NULL,
  PRIMARY KEY (best, engine, key)) STRICT, WITHOUT ROWID;
CREATE TABLE event (id INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE TABLE artifact (
  path TEXT PRIMARY KEY, trial INTEGER NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL) STRICT;
)sql";

}  // namespace hone::run
