/// The way in which a store makes commits durable; see <doc:WriteAheadLog>.
///
/// Each process chooses the mode when it opens a store, like `journal_mode` in SQLite. The mode is not stored in the
/// file.
public enum JournalMode: Sendable, Hashable {
  /// LMDB's copy-on-write pages: each commit writes its new pages and then the meta page, with two calls of `fsync`.
  case copyOnWrite
  /// A write-ahead log next to the data file: each commit appends its pages to `commit.log` with one call of `fsync`,
  /// and a checkpoint copies them to the data file later. Small commits take about a third of the time.
  case writeAheadLog
}
