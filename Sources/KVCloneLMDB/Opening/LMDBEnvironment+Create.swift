import CKVCloneLMDB
import Glibc

extension LMDBEnvironment {
  /// Makes a new store and opens it, with `tables` open.
  ///
  /// It is built in a hidden directory beside its place, given its tables and what `initialise` writes, synced, and
  /// then renamed: a store exists whole or not at all, also after a power failure. An empty directory of this user is used as
  /// it is, with mode 0700: it may be a mount point, or below a directory that this user may not write. The store is then built
  /// in a hidden directory in it, and begins to exist with the name of `data.mdb`. Throws `storeExists` if anything else is at
  /// `directory`, else `LMDBError` or what `initialise` throws.
  package static func create(
    at directory: String, tables: [String], options: LMDBOptions = LMDBOptions(),
    initialise: (inout LMDBWriteTransaction) throws -> Void = { _ in }
  ) throws -> LMDBEnvironment {
    try LMDBLibrary.check()
    // What `initialise` does may change the working directory.
    let destination = try Destination(directory, usesEmptyDirectory: true)
    let paths = destination.paths
    do {
      if let mode = destination.emptyDirectoryMode {
        try fill(paths, mode, tables, options, initialise)
      } else {
        try NetworkFileSystems.check(paths.parent, trustedFuse: options.trustedFuseFileSystems)
        CreationDirectory.sweep(for: paths)
        let temporary = try CreationDirectory(for: paths, copyOnWrite: options.copyOnWrite)
        try build(temporary.paths, tables, options, initialise)
        try FileSystem.fsyncFile(temporary.paths.data)
        try FileSystem.fsyncDirectory(temporary.paths.directory)
        try temporary.publish(as: paths)
        try FileSystem.fsyncDirectory(paths.parent)
      }
    } catch let error as LMDBError {
      throw destination.naming(error)
    }
    let environment = try open(at: paths.directory, options: options)
    try environment.openTables(tables, create: false)
    return environment
  }

  /// Makes a new store in an empty directory. An error leaves the directory empty, with the mode that it had.
  private static func fill(
    _ paths: StorePaths, _ mode: UInt32, _ tables: [String], _ options: LMDBOptions,
    _ initialise: (inout LMDBWriteTransaction) throws -> Void
  ) throws {
    try NetworkFileSystems.check(paths.directory, trustedFuse: options.trustedFuseFileSystems)
    guard unsafe chmod(paths.directory, 0o700) == 0 else {
      throw LMDBError.io(errno: errno, operation: "chmod 0700 \(paths.directory)")
    }
    do {
      let data = StorePaths(paths.data)
      CreationDirectory.sweep(for: data)
      // For the files that are made beside data.mdb later.
      options.copyOnWrite.apply(toDirectory: paths.directory)
      let temporary = try CreationDirectory(for: data, copyOnWrite: options.copyOnWrite)
      try build(temporary.paths, tables, options, initialise)
      try FileSystem.fsyncFile(temporary.paths.data)
      try temporary.publishData(into: paths.directory)
    } catch {
      // Another creation may have been faster: then the directory is a store's.
      if mode != 0o700, case .some(.none) = try? FileSystem.facts(paths.data) {
        _ = unsafe chmod(paths.directory, mode)
      }
      throw error
    }
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

extension LMDBOptions {
  fileprivate var copyOnWrite: CopyOnWrite { usesCopyOnWrite ? .like(isOff: false) : .offUnlessMirrored }
}
