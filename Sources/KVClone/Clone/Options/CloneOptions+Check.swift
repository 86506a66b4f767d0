#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel
import KVCloneRecords

extension CloneOptions {
  /// The errors in the numbers and names of the call, regardless of the model.
  var configurationErrors: [CloneError] {
    var errors: [CloneError] = []
    if count < 1 {
      errors.append(
        CloneError(.invalidConfiguration, "a clone creates at least 1 copy, not \(count); pass another count"))
    }
    if let error = keyError { errors.append(error) }
    return errors
  }

  var keyError: CloneError? {
    guard let key = idempotencyKey, !(1...CloneKey.maximumLength).contains(key.utf8.count) else { return nil }
    return CloneError(
      .invalidConfiguration,
      "an idempotency key has 1 to \(CloneKey.maximumLength) bytes of UTF-8, not \(key.utf8.count); pass another key")
  }

  /// SHA-256 of all comparable arguments of the call, except the key itself and its expiry. Sorted where the order has
  /// no meaning.
  func digest(_ roots: [ObjectID], sourceStore: UUID?, epoch: UInt64?, branch: UInt32?) -> [UInt8] {
    var writer = ByteWriter()
    writer.putString("clone 1")
    writer.put32(UInt32(roots.count))
    for root in roots { writer.put64(root.rawValue) }
    let names = Set(excludedRelationshipNames).sorted()
    writer.put32(UInt32(names.count))
    for name in names { writer.putString(name) }
    writer.put8(passingExclusionList ? 1 : 0)
    writer.put32(UInt32(rules.count))
    for (name, rule) in rules.sorted(by: { $0.key < $1.key }) {
      writer.putString(name)
      writer.putString(rule.rawValue)
    }
    let keys = userInfoKeys
    for key in [keys.exclude, keys.rebuild, keys.followParent, keys.withoutParent, keys.clone] { writer.putString(key) }
    writer.put8(references == .remap ? 0 : 1)
    writer.put8(blobs == .share ? 0 : 1)
    for limit in [maxObjects.map { UInt64(clamping: $0) }, maxDepth.map { UInt64(clamping: $0) }, maxBytes] {
      writer.put8(limit == nil ? 0 : 1)
      writer.put64(limit ?? 0)
    }
    writer.put64(UInt64(clamping: count))
    writer.put8(recordsProvenance ? 1 : 0)
    writer.putString(sourceStore?.uuidString ?? "")
    if sourceStore != nil { writer.putString(String(describing: outsideObjects)) }
    if keepsBase {
      writer.putString("keeps base")
      writer.putDouble(baseExpiresAt?.timeIntervalSinceReferenceDate ?? .nan)
    }
    if let epoch {
      writer.putString("snapshot")
      writer.put64(epoch)
    }
    if let branch {
      writer.putString("branch")
      writer.put32(branch)
    }
    return SHA256.hash(writer.bytes).bytes
  }
}
