/// A step that `bench` measures.
package enum BenchStep: String, CaseIterable {
  case insert, images, read, query, scan, clone, delete, commits, snapshot

  /// The title of the step's row in the table.
  package var title: String {
    switch self {
    case .insert: "insert, one transaction"
    case .images: "write images"
    case .read: "read by id, random order"
    case .query: "query with an index"
    case .scan: "query without an index"
    case .clone: "clone the whole graph"
    case .delete: "delete the clone"
    case .commits: "durable single commits"
    case .snapshot: "create a snapshot"
    }
  }

  /// The unit of the step's counts.
  package var unit: String {
    switch self {
    case .images: "bytes"
    case .commits: "commits"
    case .snapshot: "snapshots"
    default: "objects"
    }
  }
}
