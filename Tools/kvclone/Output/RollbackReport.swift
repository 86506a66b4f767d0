import KVClone
import KVCloneExplorer

extension GlobalOptions {
  /// Writes the result of a rollback, or of a reset of a branch.
  func report(_ result: RollbackResult) throws {
    try report { json in
      json.member("updated", result.updatedCount)
      json.member("recreated", result.recreatedCount)
      json.member("deleted", result.deletedCount)
      json.member("replacedBytes", result.replacedByteCount)
      json.nullable("automaticSnapshot", result.automaticSnapshot?.name)
      json.member("committed", true)
    } text: { output in
      try output.paragraph(
        "reverted \(Text.count(result.updatedCount, "object")), restored \(result.recreatedCount), deleted "
          + "\(result.deletedCount); \(Text.bytes(result.replacedByteCount)) of preimages")
      if let automatic = result.automaticSnapshot {
        try output.paragraph("state before the rollback: snapshot \(automatic.name)")
      }
    }
  }
}
