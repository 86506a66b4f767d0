public import KVCloneCore
import KVCloneRecords

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension ObjectStore {
  /// Purges idempotency keys, so that they can be used again (R31). Without arguments, purges all keys.
  ///
  /// A key is purged if it matches every argument that is given.
  ///
  /// - Parameters:
  ///   - keys: restricts the purge to these keys.
  ///   - before: restricts the purge to keys of operations before this time.
  ///   - expiredOnly: restricts the purge to expired keys. Expired keys are already treated as unknown, but use space
  ///     until they are reused or purged.
  /// - Returns: the number of purged keys.
  /// - Throws: `busy`, and other ``StoreError`` of a write transaction. Nothing is changed if it throws.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func purgeIdempotencyKeys(
    _ keys: [String]? = nil, before: Date? = nil, expiredOnly: Bool = false
  ) throws -> Int {
    try runWrite(label: "purge operations", timeout: nil) { transaction in
      try transaction.purgeIdempotencyKeys(keys, before, expiredOnly)
    }
  }

  /// Purges idempotency keys, from asynchronous code.
  @discardableResult
  public func purgeIdempotencyKeys(
    _ keys: [String]? = nil, before: Date? = nil, expiredOnly: Bool = false
  ) async throws -> Int {
    try await write(label: "purge operations") { transaction in
      try transaction.purgeIdempotencyKeys(keys, before, expiredOnly)
    }
  }
}

extension WriteTransaction {
  fileprivate mutating func purgeIdempotencyKeys(_ keys: [String]?, _ before: Date?, _ expiredOnly: Bool) throws -> Int
  {
    let wanted = keys.map { Set($0.map { Array($0.utf8) }) }
    let now = Date()
    let looksInside = before != nil || expiredOnly
    return try change { session in
      try CloneKey.purge(
        in: &session, { key in wanted?.contains(key) ?? true },
        looksInside
          ? { operation in
            if let before, operation.time >= before.timeIntervalSinceReferenceDate { return false }
            return !expiredOnly || operation.isExpired(at: now)
          } : nil)
    }
  }
}
