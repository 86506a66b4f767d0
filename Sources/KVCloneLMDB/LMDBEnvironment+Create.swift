import CKVCloneLMDB
import Glibc

extension LMDBEnvironment {
  /// Makes a new store and opens it, with `tables` open.
  ///
  /// It is built in a hidden directory beside its place, given its tables and what `initialise` writes, synced, and
  /// then renamed: a store exists whole or not at all, also after a power failure. Throws `storeExists` if anything is
  /// at `directory` (also an empty directory), else `LMDBError` or what `initialise` throws.
  package static func create(
    at directory: String, tables: [String], options: LMDBOptions = LMDBOptions(),
    initialise: (inout LMDBWriteTransaction) throws -> Void = { _ in }
  ) throws -> LMDBEnvironment {
    let given = StorePaths(directory)
    try LMDBLibrary.check()
    if try FileSystem.exists(given.directory) { throw LMDBError.storeExists(path: given.directory) }
    guard try FileSystem.facts(given.parent) != nil else { throw LMDBError.noStore(path: given.parent) }
    try NetworkFileSystems.check(given.parent, trustedFuse: options.trustedFuseFileSystems)
    // What `initialise` does may change the working directory.
    let paths = try given.resolved()
    CreationDirectory.sweep(for: paths)
    do {
      let temporary = try CreationDirectory(
        for: paths, copyOnWrite: options.usesCopyOnWrite ? .like(isOff: false) : .offUnlessMirrored)
      try build(temporary.paths, tables, options, initialise)
      try FileSystem.fsyncFile(temporary.paths.data)
      try FileSystem.fsyncDirectory(temporary.paths.directory)
      try temporary.publish(as: paths)
    } catch LMDBError.storeExists {
      throw LMDBError.storeExists(path: given.directory)
    }
    try FileSystem.fsyncDirectory(paths.parent)
    let environment = try open(at: paths.directory, options: options)
    try environment.openTables(tables, create: false)
    return environment
  }

  /// Makes the files of a new store in an empty directory, and closes them.
  private static func build(
    _ paths: StorePaths, _ tables: [String], _ options: LMDBOptions,
    _ initialise: (inout LMDBWriteTransaction) throws -> Void
  ) throws {
    var options = options
    options.isReadOnly = false
    let raw = try openRaw(paths.directory, options, minimumMap: 0)
    let environment: LMDBEnvironment
    do {
      let identity = try unsafe descriptorIdentity(raw.pointer)
      _ = EnvironmentRegistry.claim(identity)
      environment = LMDBEnvironment(
        raw: raw, directory: paths.directory, options: options, identity: identity, lockFile: nil,
        isShorterThanLastPage: false)
    } catch {
      raw.close()
      throw error
    }
    defer { environment.close() }
    try environment.openTables(tables, create: true)
    var transaction = try environment.beginWrite(label: "create")
    try initialise(&transaction)
    try transaction.commit()
    try environment.sync()
  }
}
