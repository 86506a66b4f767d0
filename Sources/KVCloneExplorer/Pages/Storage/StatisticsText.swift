import Foundation
package import KVCloneOperations

extension DeepStatistics {
  /// The size of all pages in bytes.
  package var total: UInt64 { spaceUsage.reduce(0) { $0 + $1.byteCount } }

  /// The size of each kind of area, in their order.
  package var sums: [(kind: SpaceUsage.Kind, sum: (count: UInt64, byteCount: UInt64))] {
    SpaceUsage.Kind.allCases.compactMap { kind in
      let areas = spaceUsage.filter { $0.kind == kind }
      if areas.isEmpty { return nil }
      return (kind, (areas.reduce(0) { $0 + $1.count }, areas.reduce(0) { $0 + $1.byteCount }))
    }
  }
}

extension SpaceUsage.Kind {
  /// The displayed name.
  package var title: String {
    switch self {
    case .objects: "objects"
    case .lists: "lists"
    case .blobs: "blobs"
    case .indexes: "indexes"
    case .history: "history"
    case .preimages: "preimages"
    case .snapshots: "snapshots"
    case .provenance: "provenance, keys"
    case .metadata: "metadata"
    case .overhead: "page overhead"
    case .unused: "unused in pages"
    case .free: "free pages"
    default: rawValue
    }
  }
}

extension Text {
  /// `12.3 %`.
  package static func share(_ part: UInt64, _ whole: UInt64) -> String {
    whole == 0 ? "" : String(format: "%.1f %%", Double(part) / Double(whole) * 100)
  }

  /// `4.20 s`, `2m 03s`, `5h 07m`, `3d 11h`.
  package static func age(_ age: Duration) -> String {
    let seconds = age.components.seconds
    func pair(_ first: Int64, _ unit: String, _ second: Int64, _ smaller: String) -> String {
      "\(first)\(unit) \(second < 10 ? "0" : "")\(second)\(smaller)"
    }
    return switch seconds {
    case ..<60: Text.seconds(age.inSeconds)
    case ..<3600: pair(seconds / 60, "m", seconds % 60, "s")
    case ..<86_400: pair(seconds / 3600, "h", seconds / 60 % 60, "m")
    default: pair(seconds / 86_400, "d", seconds / 3600 % 24, "h")
    }
  }
}

extension CheckReport {
  /// The next step after issues.
  ///
  /// - Parameter hasFile: whether the store is in a directory, not in a cluster.
  package func advice(hasFile: Bool) -> String {
    if issues.allSatisfy(\.isDerived) {
      return "the objects are intact; rebuild the rest with `kvclone repair --yes`"
    }
    if issues.allSatisfy({ $0.kind == .pageLeak }) {
      return "no data is lost; create a copy without leaked pages with `kvclone compact -o DEST`"
    }
    return hasFile
      ? "restore a backup, or copy what is readable with `kvclone salvage -o NEW`"
      : "check the database with pg_amcheck, and restore the store from a copy or a backup of the cluster"
  }
}
