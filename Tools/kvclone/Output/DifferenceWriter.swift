import KVClone
import KVCloneExplorer

/// Writes differences between two states, a line or a JSON object each.
struct DifferenceWriter {
  let isJSON: Bool

  /// - Parameters:
  ///   - forEach: calls its argument with every difference, until that returns false.
  ///   - reading: calls its argument with both states, for the values in the document.
  /// - Returns: the number of differences.
  func write(
    _ forEach: @escaping ((SnapshotDifference) throws -> Bool) throws -> Void,
    reading: @escaping ((borrowing ReadTransaction, borrowing ReadTransaction) throws -> Void) throws -> Void
  ) throws -> Int {
    let output = Output()
    var count = 0
    if isJSON {
      // Written incrementally: a document may be as long as the store.
      try output.write("{\"differences\":[")
      try reading { old, new in
        try forEach { difference in
          let json = try JSONWriter.object { try $0.difference(difference, old, new) }
          try output.write((count == 0 ? "" : ",") + json)
          count += 1
          return true
        }
      }
      try output.write("]}\n")
    } else {
      try forEach { difference in
        count += 1
        let names = difference.propertyNames
        try output.line(
          "\(difference.kind.sign) \(difference.name)" + (names.isEmpty ? "" : " " + names.joined(separator: " ")))
        return true
      }
    }
    try output.flush()
    return count
  }
}
