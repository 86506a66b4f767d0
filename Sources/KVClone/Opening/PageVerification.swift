import KVCloneCore
import KVCloneLMDB

/// Verifies the pages of a file before it is used, because LMDB trusts every byte that it maps.
enum PageVerification {
  /// Verifies the file at `path`, if it exists; opening reports all other problems.
  ///
  /// - Throws: `corrupted`, `busy`, `alreadyOpen`, and errors of reading the file: a file that could not be verified is
  ///   not mapped.
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

  /// Verifies the file of an environment that has not been read yet.
  ///
  /// - Throws: `corrupted`.
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
