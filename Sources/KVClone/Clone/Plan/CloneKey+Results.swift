#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif
package import KVCloneCore
import KVCloneModel
package import KVCloneRecords

extension CloneKey {
  /// The result of the first call with this key; nil if the key is unknown or expired.
  ///
  /// - Throws: `idempotencyKeyReused` if that call had other arguments.
  func result(in session: borrowing Session) throws -> CloneResult? {
    guard let operation = try Self.operation(bytes, in: session), !operation.isExpired(at: Date()) else { return nil }
    guard operation.argumentDigest == digest else {
      throw CloneError(
        .idempotencyKeyReused,
        "the idempotency key belongs to a clone with other arguments in commit \(operation.commit) (R31); repeat "
          + "the call with the same arguments, use another key, or purge this one")
    }
    return try Self.result(of: operation, in: session)
  }

  /// The result of the call that used a key, whatever its arguments; nil if the key is unknown or expired.
  static func result(of key: String, in session: borrowing Session) throws -> CloneResult? {
    guard let operation = try operation(Array(key.utf8), in: session), !operation.isExpired(at: Date()) else {
      return nil
    }
    return try result(of: operation, in: session)
  }

  private static func result(of operation: OperationValue, in session: borrowing Session) throws -> CloneResult {
    guard var result = StoredResult.decode(operation) else {
      if StoredMerge.decode(operation) != nil {
        throw CloneError(
          .idempotencyKeyReused, "the idempotency key belongs to a merge (R31); use another key, or purge this one")
      }
      throw StoreError(
        .corrupted, "the stored result of an idempotency key is corrupted; run `check`, or purge the key")
    }
    result.isRepeated = true
    for root in operation.roots where try !session.exists(root) { result.deletedRoots.append(root) }
    return result
  }

  /// Stores the result of a call with this key, in the transaction of the call.
  func store(_ result: CloneResult, in session: inout Session) throws {
    let value = OperationValue(
      commit: session.commit, time: Date().timeIntervalSinceReferenceDate,
      expires: expires?.timeIntervalSinceReferenceDate, roots: result.roots, argumentDigest: digest,
      result: try StoredResult.encode(result))
    try Self.store(value, bytes, in: &session)
  }

  /// Stores the result of a call under its key.
  package static func store(_ value: OperationValue, _ key: [UInt8], in session: inout Session) throws(StoreError) {
    session.changes.isEmpty = false
    let stored = value.encoded(seed: ValueEnvelope.seed(tableCode: .operations, key: key))
    try session.storage.put(session.schema.tables.operations, key.span.bytes, stored.span.bytes)
  }

  package static func operation(_ key: [UInt8], in session: borrowing Session) throws(StoreError) -> OperationValue? {
    guard let value = try session.storage.get(session.schema.tables.operations, key.span.bytes) else { return nil }
    return try operation(value, key)
  }

  private static func operation(_ value: RawSpan, _ key: [UInt8]) throws(StoreError) -> OperationValue {
    do throws(RecordError) {
      return try OperationValue(stored: value, seed: ValueEnvelope.seed(tableCode: .operations, key: key))
    } catch {
      throw StoreError(.corrupted, "the stored result of an idempotency key is corrupted: \(error) Run `check`")
    }
  }

  /// Deletes the stored results that match every argument that is given, and returns their number.
  static func purge(
    _ keys: [String]?, before: Date?, expiredOnly: Bool, in transaction: inout WriteTransaction
  ) throws -> Int {
    let wanted = keys.map { Set($0.map { Array($0.utf8) }) }
    let now = Date()
    let looksInside = before != nil || expiredOnly
    return try transaction.change { session in
      try purge(
        in: &session, { key in wanted?.contains(key) ?? true },
        looksInside
          ? { operation in
            if let before, operation.time >= before.timeIntervalSinceReferenceDate { return false }
            return !expiredOnly || operation.isExpired(at: now)
          } : nil)
    }
  }

  /// Deletes stored results, and returns their number.
  ///
  /// - Parameters:
  ///   - isNamed: whether a key is selected.
  ///   - isWanted: whether a stored value is selected; nil to select all, so that corrupted ones can be deleted.
  private static func purge(
    in session: inout Session, _ isNamed: ([UInt8]) -> Bool, _ isWanted: ((OperationValue) -> Bool)?
  ) throws(StoreError) -> Int {
    let table = session.schema.tables.operations
    var count = 0
    // The least possible key; then from the last one that was read.
    var next: [UInt8]? = [0]
    while let start = next {
      var keys: [[UInt8]] = []
      next = nil
      try session.storage.scanToEnd(of: table, from: start.span.bytes) { (key, value) throws(StoreError) in
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
        if isWanted(try operation(copy value, bytes)) { keys.append(bytes) }
        return true
      }
      for key in keys { try session.storage.delete(table, key.span.bytes) }
      count += keys.count
    }
    return count
  }
}

extension OperationValue {
  package func isExpired(at now: Date) -> Bool {
    expires.map { $0 <= now.timeIntervalSinceReferenceDate } ?? false
  }

  /// Whether the stored result can be decoded.
  package var hasReadableResult: Bool { StoredResult.decode(self) != nil || StoredMerge.decode(self) != nil }
}

/// The part of a clone's result that is stored as JSON; its roots are a separate field.
private struct StoredResult: Codable {
  var objects: Int
  var counts: [String: Int]
  var touchedCount: Int
  var touched: [ObjectID]
  var blobsShared: Int
  var bytesShared: UInt64
  var bytesCopied: UInt64
  var bytesWritten: UInt64
  /// Until the result was encoded, shortly before the commit.
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
