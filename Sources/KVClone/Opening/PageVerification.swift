import KVCloneCore
import KVCloneLMDB

/// The walk over the pages before a file is trusted. LMDB believes every byte of what it maps.
enum PageVerification {
  /// Walks over the file at `path`, if there is one; opening finds out about the rest.
  ///
  /// - Throws: `damaged`, `busy`, `alreadyOpen`, and what keeps the file from being read: nobody maps what was to be verified, and was not.
  static func verify(at path: String) throws(StoreError) {
    for timeout: Duration in [.zero, .seconds(1), .seconds(5)] {
      guard let file = try storeErrors({ () throws(LMDBError) in try file(at: path, timeout) }) else { return }
      let map = try storeErrors { () throws(LMDBError) in try file.walk() }
      guard file.isStillCurrent else { continue }
      return try refuseDamage(map, path)
    }
    throw StoreError(.busy, "the pages of the store at \(path) cannot be verified while it is being written; try again")
  }

  private static func file(at path: String, _ timeout: Duration) throws(LMDBError) -> PageFile? {
    do throws(LMDBError) {
      return try PageFile(at: path, lockTimeout: timeout)
    } catch {
      if case .storeNotFound = error { return nil }
      throw error
    }
  }

  /// Walks over the file of an environment that nothing was read from yet.
  ///
  /// - Throws: `damaged`.
  static func verify(of environment: LMDBEnvironment, path: String) throws(StoreError) {
    let map = try storeErrors { () throws(LMDBError) in try PageFile(pinning: environment).walk() }
    try refuseDamage(map, path)
  }

  private static func refuseDamage(_ map: PageMap, _ path: String) throws(StoreError) {
    let findings = map.findings.filter { !$0.problem.isHarmless }
    guard let first = findings.first else { return }
    let more = findings.count > 1 ? " (and \(findings.count - 1) more)" : ""
    throw StoreError(
      .corrupted,
      "page \(first.page)\(more) of the store at \(path) is corrupted: \(first.problem.message); run `check` to see "
        + "the "
        + "extent, then restore a backup or salvage the readable objects")
  }
}
