// SPDX-License-Identifier: Apache-2.0
#include "run/journal.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "run/journal_schema.h"
#include "run/layout.h"

namespace hone::run {

namespace {

// "hone" in ASCII: marks the file as a journal of ours (PRAGMA application_id).
constexpr int kApplicationId = 0x686f6e65;

constexpr const char* kRestore = "restore it from a copy, or start a new run";

Error damaged(std::string_view what) {
  return bad_input(fmt::format("the journal is damaged: {}", what), {}, kRestore);
}

// SQLiteCpp's own code (-1, cut to a byte) for a column that the statement does not have.
constexpr int kNoSuchColumn = 0xff;

Error sqlite_error(const SQLite::Exception& e, const fs::path& file) {
  switch (e.getErrorCode() & 0xff) {
    case SQLITE_FULL:
      return io_error(std::string("can't write the journal (") + e.what() + ")", file.string(),
                      "free some space, then go on with --resume");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:  // no such table or column
    case SQLITE_RANGE:
    case SQLITE_MISMATCH:
    case kNoSuchColumn:
      return bad_input(std::string("the journal is damaged or no journal (") + e.what() + ")", file.string(), kRestore);
    default:
      return io_error(std::string("journal: ") + e.what(), file.string());
  }
}

SQLite::Database& database(void* pointer) { return *static_cast<SQLite::Database*>(pointer); }

template <class... Args>
void execute(void* db, const char* sql, const Args&... args) {
  SQLite::Statement statement(database(db), sql);
  SQLite::bind(statement, args...);
  statement.exec();
}

// NaN and infinity: SQLite stores NaN as NULL; the documents hold what matters.
void bind_real(SQLite::Statement& statement, int index, double value) {
  if (std::isnan(value))
    statement.bind(index);
  else
    statement.bind(index, value);
}

Json stops_json(const std::vector<Stop>& stops) {
  Json out = Json::array();
  for (const Stop& stop : stops) out.push_back({{"reason", stop.reason}, {"evidence", stop.evidence}});
  return out;
}

void bind_samples(SQLite::Statement& statement, int index, const std::vector<double>& samples) {
  statement.bind(index, samples.data(), static_cast<int>(samples.size() * sizeof(double)));
}

}  // namespace

// --- writing ---

void Transaction::run(const Record& r) {
  execute(database_, "INSERT OR REPLACE INTO run VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", r.id, r.created, r.ended,
          r.hone_version, static_cast<int>(r.progress), r.elapsed_s, dump_json_line(r.plan.to_json()), r.model_sha256,
          r.model_bytes, r.has_reference ? 1 : 0, dump_json_line(stops_json(r.stops)));
}

void Transaction::environment(const Record& record) {
  for (const auto& [key, value] : record.environment)
    execute(database_, "INSERT OR REPLACE INTO environment VALUES (?, ?)", key, value);
}

void Transaction::protocol(const Record& record) {
  execute(database_, "INSERT INTO protocol VALUES (?, ?, ?, ?)", record.protocol->hash(),
          dump_json_line(record.protocol->to_json()), record.data_source, dump_json_line(Json(record.data_notes)));
}

void Transaction::trial(const Trial& t) {
  SQLite::Statement statement(
      database(database_),
      "INSERT OR REPLACE INTO trial VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  SQLite::bind(statement, t.number, t.parent, std::string(to_text(t.stage)), std::string(to_text(t.state)),
               t.proposal.change, t.kind, dump_json_line(t.proposal.to_json()),
               dump_json_line(t.configuration.to_json()), t.summary, t.nodes_before, t.nodes_after);
  if (t.accuracy) statement.bind(12, dump_json_line(t.accuracy->to_json()));
  if (t.verdict) {
    statement.bind(13, std::string(verdict::to_text(t.verdict->kind)));
    statement.bind(14, t.verdict->reason);
    statement.bind(15, t.verdict->noise ? 1 : 0);
  }
  if (t.vs_original) {
    bind_real(statement, 16, t.vs_original->estimate);
    bind_real(statement, 17, t.vs_original->low);
    bind_real(statement, 18, t.vs_original->high);
  }
  statement.bind(19, t.dir);
  statement.bind(20, t.started);
  statement.bind(21, t.seconds);
  statement.exec();
}

void Transaction::measurement(int trial, std::string_view purpose, const measure::Measurement& m) {
  Json document = m.to_json();
  document.erase("samples_ms");
  SQLite::Statement statement(database(database_), "INSERT INTO measurement VALUES (NULL, ?, ?, ?, ?, ?)");
  SQLite::bind(statement, trial, std::string(purpose), m.protocol_hash, dump_json_line(document));
  bind_samples(statement, 5, m.samples_ms);
  statement.exec();
}

void Transaction::comparison(int trial, std::string_view purpose, const measure::Comparison& c,
                             const std::vector<measure::BlockRow>& blocks) {
  SQLite::Database& db = database(database_);
  execute(database_, "INSERT INTO measurement VALUES (NULL, ?, ?, ?, ?, NULL)", trial, std::string(purpose),
          c.protocol_hash, dump_json_line(c.to_json()));
  const int64_t id = db.getLastInsertRowid();
  SQLite::Statement look(db, "INSERT INTO look VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (size_t i = 0; i < c.looks.size(); ++i) {
    const measure::Look& l = c.looks[i];
    look.reset();
    SQLite::bind(look, id, static_cast<int>(i), c.place, l.pairs, l.mean, l.sd, l.floor_used ? 1 : 0, l.level, l.low,
                 l.high, l.sample_sd);
    look.exec();
  }
  SQLite::Statement row(
      db,
      "INSERT INTO block VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (size_t i = 0; i < blocks.size(); ++i) {
    const measure::BlockRow& b = blocks[i];
    const worker::BlockResult& r = b.block;
    row.reset();
    SQLite::bind(row, id, static_cast<int64_t>(i), b.pair, b.slot, std::string(1, b.side), b.pid, b.place, b.invalid,
                 r.start_s, r.settle_iterations, r.iterations, r.min, r.q10, r.q25, r.q50, r.q75, r.q90, r.max, r.mean,
                 r.before.ping_ns, r.after.ping_ns, r.before.fma_ms[0], r.before.fma_ms[1], r.after.fma_ms[0],
                 r.after.fma_ms[1], r.timed_s, r.pressure, r.own_cpu_s, r.busy_cpu_s, r.steal_s, r.run_queue_wait_s,
                 r.involuntary_switches, r.minor_faults);
    row.exec();
  }
}

void Transaction::profile(const ProfileRow& profile) {
  execute(database_, "INSERT INTO profile VALUES (?, ?, ?)", profile.trial, profile.dir,
          dump_json_line(profile.diagnosis.to_json()));
  int rank = 0;
  for (const diagnose::Finding& f : profile.diagnosis.findings)
    execute(database_, "INSERT INTO finding VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", profile.trial, rank++, f.id,
            static_cast<int>(f.priority), f.title, f.evidence, f.direction, f.share, f.upper_bound);
}

void Transaction::screen(const ScreenRow& s) {
  execute(database_, "INSERT OR REPLACE INTO screen VALUES (?, ?, ?, ?)", s.best, s.engine, s.key, s.speedup);
}

void Transaction::proposals(const std::vector<change::Proposal>& open) {
  execute(database_, "UPDATE change SET open = 0");
  int position = 0;
  for (const change::Proposal& p : open)
    execute(database_, "INSERT OR REPLACE INTO change VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?)", p.key(), p.change,
            std::string(accuracy::to_text(p.accuracy)), p.finding, p.predicted, p.upper_bound, position++,
            dump_json_line(p.to_json()));
}

void Transaction::event(const Event& event) {
  execute(database_, "INSERT INTO event VALUES (NULL, ?, ?, ?)", event.at, event.kind, event.text);
}

void Transaction::artifact(const Artifact& a) {
  execute(database_, "INSERT OR REPLACE INTO artifact VALUES (?, ?, ?, ?)", a.path, a.trial, a.sha256, a.bytes);
}

// --- opening ---

struct Journal::Handle {
  fs::path file;
  SQLite::Database db;
};

Journal::Journal(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
Journal::Journal(Journal&&) noexcept = default;
Journal& Journal::operator=(Journal&&) noexcept = default;
Journal::~Journal() = default;

namespace {

Status check_version(SQLite::Database& db, const fs::path& file) {
  const int application = db.execAndGet("PRAGMA application_id").getInt();
  const int version = db.execAndGet("PRAGMA user_version").getInt();
  if (application != kApplicationId)
    return fail(bad_input("not a journal of hone", file.string(), "give the run directory that hone made"));
  if (version != kSchemaVersion)
    return fail(bad_input(fmt::format("the journal has schema {}, this hone reads {}", version, kSchemaVersion),
                          file.string(), "use the hone that made the run"));
  return {};
}

void make_schema(SQLite::Database& db) {
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  db.exec(kSchema);
  db.exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kSchemaVersion));
  transaction.commit();
}

}  // namespace

Result<Journal> Journal::open(const fs::path& file) {
  try {
    auto handle = std::make_unique<Handle>(
        Handle{file, SQLite::Database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 10'000)});
    SQLite::Database& db = handle->db;
    db.exec("PRAGMA journal_mode = WAL");
    db.exec("PRAGMA synchronous = FULL");
    if (db.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0) make_schema(db);
    HONE_TRY(check_version(db, file));
    const std::string verdict = db.execAndGet("PRAGMA quick_check(1)").getString();
    if (verdict != "ok")
      return fail(bad_input("the journal is damaged (" + verdict + ")", file.string(), "restore it from a copy"));
    return Journal(std::move(handle));
  } catch (const SQLite::Exception& e) {
    return fail(sqlite_error(e, file));
  }
}

Result<Journal> Journal::open_read_only(const fs::path& file) {
  std::error_code code;
  if (!fs::exists(file, code))
    return fail(bad_input("no run here: there is no journal", file.parent_path().string(),
                          "give the run directory that hone made"));
  try {
    // Without a -wal file the journal is complete in itself: "immutable" reads it from a read-only folder, where
    // SQLite could not make the files it shares with other readers.
    fs::path wal = file;
    wal += "-wal";
    const bool at_rest = !fs::exists(wal, code);
    std::string name = file.string();
    if (at_rest) {
      name.clear();
      for (const char c : fs::absolute(file).string())
        name += std::strchr("%?#", c) != nullptr ? fmt::format("%{:02X}", c) : std::string(1, c);
      name = "file:" + name + "?immutable=1";
    }
    auto handle = std::make_unique<Handle>(
        Handle{file, SQLite::Database(name, SQLite::OPEN_READONLY | (at_rest ? SQLITE_OPEN_URI : 0), 10'000)});
    HONE_TRY(check_version(handle->db, file));
    return Journal(std::move(handle));
  } catch (const SQLite::Exception& e) {
    return fail(sqlite_error(e, file));
  }
}

bool Journal::has_run() const {
  try {
    return handle_->db.execAndGet("SELECT count(*) FROM run").getInt() == 1;
  } catch (const SQLite::Exception&) {
    return false;  // no table: no run
  }
}

Status Journal::write(const std::function<void(Transaction&)>& body) {
  try {
    SQLite::Transaction transaction(handle_->db, SQLite::TransactionBehavior::IMMEDIATE);
    Transaction writer(&handle_->db);
    body(writer);
    transaction.commit();
    return {};
  } catch (const SQLite::Exception& e) {
    return fail(sqlite_error(e, handle_->file));
  }
}

Status Journal::limit_pages(int pages) {
  try {
    handle_->db.execAndGet(fmt::format("PRAGMA max_page_count = {}", pages));
    return {};
  } catch (const SQLite::Exception& e) {
    return fail(sqlite_error(e, handle_->file));
  }
}

// --- reading ---

namespace {

class Reader {
 public:
  Reader(SQLite::Database& db, Record* record) : db_(db), record_(*record) {}
  Status read() {
    HONE_TRY(run());
    HONE_TRY(protocol());
    HONE_TRY(trials());
    HONE_TRY(measurements());
    HONE_TRY(profiles());
    HONE_TRY(proposals());
    small_tables();
    return {};
  }

 private:
  Result<Json> document(const SQLite::Column& column, const char* table) {
    return parse_json(column.getString(), fmt::format("journal, table {}", table));
  }

  static Result<Progress> progress_from(int64_t value) {
    if (value < 0 || value > static_cast<int64_t>(Progress::kFinished))
      return fail(damaged(fmt::format("run.progress is {}", value)));
    return static_cast<Progress>(value);
  }

  // A list of texts: what is said about the data.
  static Result<std::vector<std::string>> texts(const Json& value, const char* what) {
    const auto is_text = [](const Json& item) { return item.is_string(); };
    if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_text)) return fail(damaged(what));
    return value.get<std::vector<std::string>>();
  }

  Status run() {
    SQLite::Statement q(db_,
                        "SELECT id, created, ended, hone_version, progress, elapsed_s, plan, model_sha256, "
                        "model_bytes, has_reference, stops FROM run");
    if (!q.executeStep())
      return fail(bad_input("the run stopped before it began: there is nothing to resume", {}, "start it again"));
    record_.id = q.getColumn(0).getString();
    record_.created = q.getColumn(1).getString();
    record_.ended = q.getColumn(2).getString();
    record_.hone_version = q.getColumn(3).getString();
    record_.progress = HONE_TRY(progress_from(q.getColumn(4).getInt64()));
    record_.elapsed_s = q.getColumn(5).getDouble();
    record_.plan = HONE_TRY(Plan::from_json(HONE_TRY(document(q.getColumn(6), "run"))));
    record_.model_sha256 = q.getColumn(7).getString();
    record_.model_bytes = q.getColumn(8).getInt64();
    record_.has_reference = q.getColumn(9).getInt() != 0;
    for (const Json& stop : HONE_TRY(document(q.getColumn(10), "run")))
      record_.stops.push_back(
          {HONE_TRY(json_field<std::string>(stop, "reason")), HONE_TRY(json_field<std::string>(stop, "evidence"))});
    return {};
  }

  Status protocol() {
    SQLite::Statement q(db_, "SELECT document, data_source, data_notes FROM protocol");
    if (!q.executeStep()) return {};
    record_.protocol = HONE_TRY(protocol::Protocol::from_json(HONE_TRY(document(q.getColumn(0), "protocol"))));
    record_.data_source = q.getColumn(1).getString();
    record_.data_notes =
        HONE_TRY(texts(HONE_TRY(document(q.getColumn(2), "protocol")), "protocol.data_notes is no list of texts"));
    return {};
  }

  Status trials() {
    SQLite::Statement q(db_, "SELECT * FROM trial ORDER BY number");
    while (q.executeStep()) {
      record_.trials.push_back(HONE_TRY(trial(q)));
      HONE_TRY(check(record_.trials.back()));
    }
    return {};
  }

  // What the Record's own questions rely on: parents before children (a chain ends), an ablation that says of what.
  static Status check(const Trial& t) {
    if (t.number < 0 || t.parent >= t.number)
      return fail(damaged(fmt::format("trial {} is not after its parent", t.number)));
    if (t.proposal.change == kWithout && !t.proposal.params.contains("change"))
      return fail(damaged(fmt::format("trial {} removes a change and does not say which", t.number)));
    return {};
  }

  Result<Trial> trial(SQLite::Statement& q) {
    Trial t;
    t.number = q.getColumn(0).getInt();
    t.parent = q.getColumn(1).getInt();
    t.stage = HONE_TRY(stage_from(q.getColumn(2).getString()));
    t.state = HONE_TRY(state_from(q.getColumn(3).getString()));
    t.kind = q.getColumn(5).getString();
    t.proposal = HONE_TRY(change::Proposal::from_json(HONE_TRY(document(q.getColumn(6), "trial"))));
    t.configuration = HONE_TRY(engine::Configuration::from_json(HONE_TRY(document(q.getColumn(7), "trial"))));
    t.summary = q.getColumn(8).getString();
    t.nodes_before = q.getColumn(9).getInt64();
    t.nodes_after = q.getColumn(10).getInt64();
    if (!q.isColumnNull(11))
      t.accuracy = HONE_TRY(accuracy::Report::from_json(HONE_TRY(document(q.getColumn(11), "trial"))));
    if (!q.isColumnNull(12))
      t.verdict = verdict::Verdict{HONE_TRY(verdict::kind_from(q.getColumn(12).getString())),
                                   q.getColumn(13).getString(), q.getColumn(14).getInt() != 0};
    if (!q.isColumnNull(15))
      t.vs_original =
          measure::Interval{q.getColumn(15).getDouble(), q.getColumn(16).getDouble(), q.getColumn(17).getDouble()};
    t.dir = q.getColumn(18).getString();
    t.started = q.getColumn(19).getString();
    t.seconds = q.getColumn(20).getDouble();
    return t;
  }

  Status measurements() {
    SQLite::Statement q(db_, "SELECT trial, purpose, document, samples_ms FROM measurement ORDER BY id");
    while (q.executeStep()) {
      const int number = q.getColumn(0).getInt();
      const std::string purpose = q.getColumn(1).getString();
      const Json value = HONE_TRY(document(q.getColumn(2), "measurement"));
      if (purpose == "baseline") {
        measure::Measurement m = HONE_TRY(measurement(value, q.getColumn(3)));
        if (Trial* t = trial_of(number)) t->measurement = std::move(m);
        continue;
      }
      measure::Comparison c = HONE_TRY(measure::Comparison::from_json(value));
      if (purpose == "noise") {
        record_.noise = std::move(c);
      } else if (purpose == "goal_check") {
        record_.goal_check = std::move(c);
        record_.goal_check_of = number;
      } else if (Trial* t = trial_of(number)) {
        t->comparison = std::move(c);
      }
    }
    return {};
  }

  Result<measure::Measurement> measurement(Json value, const SQLite::Column& blob) {
    std::vector<double> samples(static_cast<size_t>(blob.getBytes()) / sizeof(double));
    if (!samples.empty()) std::memcpy(samples.data(), blob.getBlob(), samples.size() * sizeof(double));
    if (!value.is_object()) return fail(damaged("a measurement is no object"));
    value["samples_ms"] = samples;
    return measure::Measurement::from_json(value);
  }

  Status profiles() {
    SQLite::Statement q(db_, "SELECT trial, dir, diagnosis FROM profile ORDER BY trial");
    while (q.executeStep())
      record_.profiles.push_back(
          {q.getColumn(0).getInt(), q.getColumn(1).getString(),
           HONE_TRY(diagnose::Diagnosis::from_json(HONE_TRY(document(q.getColumn(2), "profile"))))});
    return {};
  }

  Status proposals() {
    SQLite::Statement q(db_, "SELECT document FROM change WHERE open = 1 ORDER BY position");
    while (q.executeStep())
      record_.proposals.push_back(HONE_TRY(change::Proposal::from_json(HONE_TRY(document(q.getColumn(0), "change")))));
    return {};
  }

  void small_tables() {
    SQLite::Statement environment(db_, "SELECT key, value FROM environment");
    while (environment.executeStep())
      record_.environment[environment.getColumn(0).getString()] = environment.getColumn(1).getString();
    SQLite::Statement screen(db_, "SELECT best, engine, key, speedup FROM screen ORDER BY best, engine, key");
    while (screen.executeStep())
      record_.screens.push_back({screen.getColumn(0).getInt(), screen.getColumn(1).getString(),
                                 screen.getColumn(2).getString(), screen.getColumn(3).getDouble()});
    SQLite::Statement event(db_, "SELECT at, kind, text FROM event ORDER BY id");
    while (event.executeStep())
      record_.events.push_back(
          {event.getColumn(0).getString(), event.getColumn(1).getString(), event.getColumn(2).getString()});
  }

  Trial* trial_of(int number) {
    for (Trial& t : record_.trials)
      if (t.number == number) return &t;
    return nullptr;
  }

  SQLite::Database& db_;
  Record& record_;
};

}  // namespace

Result<Record> Journal::load() const {
  try {
    Record record;
    record.folder = fs::absolute(handle_->file).parent_path();
    HONE_TRY(Reader(handle_->db, &record).read().map_error([&](Error e) {
      if (e.where.empty()) e.where = handle_->file.string();
      return e;
    }));
    return record;
  } catch (const SQLite::Exception& e) {
    return fail(sqlite_error(e, handle_->file));
  }
}

Result<std::vector<Artifact>> Journal::artifacts() const {
  try {
    std::vector<Artifact> out;
    SQLite::Statement q(handle_->db, "SELECT path, trial, sha256, bytes FROM artifact ORDER BY path");
    while (q.executeStep())
      out.push_back(
          {q.getColumn(0).getString(), q.getColumn(1).getInt(), q.getColumn(2).getString(), q.getColumn(3).getInt64()});
    return out;
  } catch (const SQLite::Exception& e) {
    return fail(sqlite_error(e, handle_->file));
  }
}

}  // namespace hone::run
