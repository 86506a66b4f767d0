#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneModel
import KVCloneRecords

/// An idempotency key, and what it stands for: the arguments of the first call that had it (R31).
struct CloneKey {
  static let maximumLength = 255

  let bytes: [UInt8]
  /// SHA-256 of the arguments in one form.
  let digest: [UInt8]
  let expires: Date?

  /// Nil where the call has no key.
  ///
  /// - Parameters:
  ///   - sourceStore: of a clone into another store, which is where the key is kept.
  ///   - epoch: of a clone from a snapshot: which one. No two of a store ever have the same, and names come again.
  /// - Throws: `invalidConfiguration`.
  init?(_ roots: [ObjectID], _ options: CloneOptions, sourceStore: UUID? = nil, epoch: UInt64? = nil)
    throws(CloneError)
  {
    guard let key = options.idempotencyKey else { return nil }
    if let error = options.keyError { throw error }
    bytes = Array(key.utf8)
    expires = options.idempotencyExpiresAt
    digest = options.digest(roots, sourceStore: sourceStore, epoch: epoch)
  }
}

extension CloneOptions {
  /// What is wrong with the numbers and names of the call, whatever the model.
  var configurationErrors: [CloneError] {
    var errors: [CloneError] = []
    if count < 1 {
      errors.append(
        CloneError(.invalidConfiguration, "a clone creates at least 1 copy, not \(count); pass another count"))
    }
    if let error = keyError { errors.append(error) }
    return errors
  }

  fileprivate var keyError: CloneError? {
    guard let key = idempotencyKey, !(1...CloneKey.maximumLength).contains(key.utf8.count) else { return nil }
    return CloneError(
      .invalidConfiguration,
      "an idempotency key has 1 to \(CloneKey.maximumLength) bytes of UTF-8, not \(key.utf8.count); pass another key")
  }

  /// SHA-256 of everything that the call says, except the key itself and when it expires, and what cannot be compared.
  /// Where order says nothing, there is one order.
  fileprivate func digest(_ roots: [ObjectID], sourceStore: UUID?, epoch: UInt64?) -> [UInt8] {
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
    if let epoch {
      writer.putString("snapshot")
      writer.put64(epoch)
    }
    return SHA256.hash(writer.bytes).bytes
  }
}

extension Session {
  /// The result of the first call with this key; nil where the key is unknown, or has expired.
  ///
  /// - Throws: `idempotencyKeyReused` where that call had other arguments.
  borrowing func result(of key: CloneKey) throws -> CloneResult? {
    guard let operation = try operation(key.bytes), !operation.isExpired(at: Date()) else { return nil }
    guard operation.argumentDigest == key.digest else {
      throw CloneError(
        .idempotencyKeyReused,
        "the idempotency key belongs to a clone with other arguments in commit \(operation.commit) (R31); repeat "
          + "the call with the same arguments, use another key, or purge this one")
    }
    guard var result = StoredResult.decode(operation) else {
      throw StoreError(
        .corrupted, "the stored result of an idempotency key is corrupted; run `check`, or purge the key")
    }
    result.isRepeated = true
    for root in operation.roots where try !exists(root) { result.deletedRoots.append(root) }
    return result
  }

  /// Remembers what a call with this key made, in the transaction that made it.
  mutating func note(_ result: CloneResult, _ key: CloneKey) throws {
    let value = OperationValue(
      commit: commit, time: Date().timeIntervalSinceReferenceDate,
      expires: key.expires?.timeIntervalSinceReferenceDate, roots: result.roots, argumentDigest: key.digest,
      result: try StoredResult.encode(result))
    changes.isEmpty = false
    let bytes = value.encoded(seed: ValueEnvelope.seed(tableCode: .operations, key: key.bytes))
    try storage.put(schema.tables.operations, key.bytes.span.bytes, bytes.span.bytes)
  }

  private borrowing func operation(_ key: [UInt8]) throws(StoreError) -> OperationValue? {
    guard let value = try storage.get(schema.tables.operations, key.span.bytes) else { return nil }
    do throws(RecordError) {
      return try OperationValue(stored: value, seed: ValueEnvelope.seed(tableCode: .operations, key: key))
    } catch {
      throw StoreError(.corrupted, "the stored result of an idempotency key is corrupted: \(error) Run `check`")
    }
  }

  /// Forgets operations; how many.
  ///
  /// - Parameters:
  ///   - isNamed: whether a key is one of those that are meant.
  ///   - isWanted: whether what the store remembers is; nil where it does not matter, so that damage can be got rid of.
  mutating func forgetOperations(
    _ isNamed: ([UInt8]) -> Bool, _ isWanted: ((OperationValue) -> Bool)?
  ) throws(StoreError) -> Int {
    let table = schema.tables.operations
    var count = 0
    // The least key there is; then from the last one that was looked at.
    var next: [UInt8]? = [0]
    while let start = next {
      var keys: [[UInt8]] = []
      next = nil
      try storage.scan(table, from: start.span.bytes) { (key, value) throws(StoreError) in
        let bytes = key.withUnsafeBytes { Array($0) }
        if keys.count == 1024 {
          next = bytes
          return false
        }
        guard isNamed(bytes) else { return true }
        guard let isWanted else {
          keys.append(bytes)
          return true
        }
        let seed = ValueEnvelope.seed(tableCode: .operations, key: copy key)
        do throws(RecordError) {
          if isWanted(try OperationValue(stored: copy value, seed: seed)) { keys.append(bytes) }
        } catch {
          throw StoreError(.corrupted, "the stored result of an idempotency key is corrupted: \(error) Run `check`")
        }
        return true
      }
      for key in keys { try storage.delete(table, key.span.bytes) }
      count += keys.count
    }
    return count
  }
}

extension OperationValue {
  func isExpired(at now: Date) -> Bool {
    expires.map { $0 <= now.timeIntervalSinceReferenceDate } ?? false
  }

  /// Whether what the operation answered can be told again.
  var hasReadableResult: Bool { StoredResult.decode(self) != nil }
}

/// What of a clone's result is stored as JSON; its roots are a field of their own.
private struct StoredResult: Codable {
  var objects: Int
  var counts: [String: Int]
  var touchedCount: Int
  var touched: [ObjectID]
  var blobsShared: Int
  var bytesShared: UInt64
  var bytesCopied: UInt64
  var bytesWritten: UInt64
  /// Until the result was written down, which is shortly before the commit.
  var seconds: Double

  static func encode(_ result: CloneResult) throws -> [UInt8] {
    let parts = result.duration.components
    let stored = StoredResult(
      objects: result.objectCount, counts: result.counts, touchedCount: result.affectedObjectCount,
      touched: result.affectedObjectIDs,
      blobsShared: result.blobsShared, bytesShared: result.bytesShared, bytesCopied: result.bytesCopied,
      bytesWritten: result.bytesWritten, seconds: Double(parts.seconds) + Double(parts.attoseconds) / 1e18)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return Array(try encoder.encode(stored))
  }

  static func decode(_ operation: OperationValue) -> CloneResult? {
    guard let stored = try? JSONDecoder().decode(StoredResult.self, from: Data(operation.result)),
      (0...1e12).contains(stored.seconds)
    else { return nil }
    return CloneResult(
      roots: operation.roots, objectCount: stored.objects, counts: stored.counts,
      affectedObjectCount: stored.touchedCount,
      affectedObjectIDs: stored.touched, blobsShared: stored.blobsShared, bytesShared: stored.bytesShared,
      bytesCopied: stored.bytesCopied, bytesWritten: stored.bytesWritten, duration: .seconds(stored.seconds))
  }
}
