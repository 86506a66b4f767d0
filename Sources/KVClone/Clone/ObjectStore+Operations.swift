#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension ObjectStore {
  /// Forgets idempotency keys (R31), so that they can be used anew: those that fit every argument that is given; all of
  /// them without any.
  ///
  /// - Parameters:
  ///   - keys: only these.
  ///   - before: only keys of operations that were done before this time.
  ///   - expiredOnly: only keys that have expired. They count as unknown already, but take up room until they are used again
  ///     or purged.
  /// - Returns: how many keys were forgotten.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func purgeIdempotencyKeys(keys: [String]? = nil, before: Date? = nil, expiredOnly: Bool = false) throws -> Int {
    try runWrite(label: "purge operations", timeout: nil) { transaction in
      try transaction.purgeIdempotencyKeys(keys, before, expiredOnly)
    }
  }

  /// Forgets idempotency keys, from asynchronous code.
  @discardableResult
  public func purgeIdempotencyKeys(
    keys: [String]? = nil, before: Date? = nil, expiredOnly: Bool = false
  ) async throws -> Int {
    try await write(label: "purge operations") { transaction in
      try transaction.purgeIdempotencyKeys(keys, before, expiredOnly)
    }
  }
}

extension WriteTransaction {
  fileprivate mutating func purgeIdempotencyKeys(_ keys: [String]?, _ before: Date?, _ expiredOnly: Bool) throws -> Int {
    let wanted = keys.map { Set($0.map { Array($0.utf8) }) }
    let now = Date()
    let looksInside = before != nil || expiredOnly
    return try change { session in
      try session.forgetOperations(
        { key in wanted?.contains(key) ?? true },
        looksInside
          ? { operation in
            if let before, operation.time >= before.timeIntervalSinceReferenceDate { return false }
            return !expiredOnly || operation.isExpired(at: now)
          } : nil)
    }
  }
}
