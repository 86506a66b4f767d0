import CKVCloneLMDB
import Glibc

extension LMDBEnvironment {
  /// Opens an existing store. Creates nothing if it does not exist (`noStore`).
  ///
  /// Checks names, owner, mode, links, file system and meta pages before LMDB maps the file; see
  /// `isShorterThanLastPage` for the one finding that is not an error. Tables are opened with `openTables`.
  package static func open(at directory: String, options: LMDBOptions = LMDBOptions()) throws(LMDBError)
    -> LMDBEnvironment
  {
    // Errors contain the caller's path; everything later uses an absolute path.
    let given = StorePaths(directory)
    try LMDBLibrary.check()
    let identity = try StoreFileCheck.identify(given, isReadOnly: options.isReadOnly)
    try NetworkFileSystems.check(given.directory, trustedFuse: options.trustedFuseFileSystems)
    guard EnvironmentRegistry.claim(identity) else { throw .alreadyOpen(path: given.data) }
    do {
      // Until LMDB's environment is open, no other process can recover or open the store.
      let deadline = options.openingDeadline
      let lock = try CommitLogRecovery.run(given, deadline: deadline)
      defer { withExtendedLifetime(lock) {} }
      let found = try StoreFileCheck.inspect(given, identity)
      return try open(try given.resolved(), options, found, deadline)
    } catch {
      EnvironmentRegistry.release(identity)
      throw error
    }
  }

  private static func open(
    _ paths: StorePaths, _ options: LMDBOptions, _ found: StoreFileCheck.Result, _ deadline: UInt64
  ) throws(LMDBError) -> LMDBEnvironment {
    let lockFile =
      try options.isReadOnly
      ? WriterLockFile(readOnlyPath: paths.writerLock) : WriterLockFile(path: paths.writerLock)
    let raw = try openRaw(paths.directory, options, minimumMap: found.byteCount, deadline: deadline)
    var commitLog: CommitLog?
    var others: [FileSystem.Identity] = []
    do throws(LMDBError) {
      let opened = try unsafe descriptorIdentity(raw.pointer)
      if opened != found.identity { throw .replacedWhileOpening(path: paths.data) }
      if let lockFile, !options.isReadOnly {
        commitLog = try CommitLog(paths, lockFile, byteLimit: options.walSizeLimit, identity: opened)
      }
      // A lock file that is not registered here could be opened under another name, and closing it would drop LMDB's
      // locks.
      for path in [paths.readerLock, paths.writerLock, paths.stagerLock] {
        if let other = try FileSystem.facts(path) { others.append(other.identity) }
      }
    } catch {
      raw.close()
      throw error
    }
    if !options.isReadOnly { lockFile?.beginReserve() }
    EnvironmentRegistry.attach(others, to: found.identity)
    return LMDBEnvironment(
      raw: raw, directory: paths.directory, options: options, identity: found.identity, lockFile: lockFile,
      commitLog: commitLog, isShorterThanLastPage: found.isShorterThanLastPage)
  }
}

extension LMDBEnvironment {
  /// Creates a store and opens it, with `tables` open.
  ///
  /// The store is built in a hidden directory next to its path, with its tables and what `initialise` writes, synced,
  /// and then renamed: a store exists whole or not at all, even after a power failure. An empty directory of this user
  /// is used in place, with mode 0700: it may be a mount point, or its parent may not be writable. The store is then
  /// built in a hidden directory inside it, and starts to exist with the name of `data.mdb`. Throws `storeExists` if
  /// anything else is at `directory`, else `LMDBError` or what `initialise` throws.
  package static func create(
    at directory: String, tables: [String], options: LMDBOptions = LMDBOptions(),
    initialise: (inout LMDBWriteTransaction) throws -> Void = { _ in }
  ) throws -> LMDBEnvironment {
    try LMDBLibrary.check()
    // `initialise` may change the working directory.
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

  /// Creates a store in an empty directory. An error leaves the directory empty, with its original mode.
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
      // For the files that are created next to data.mdb later.
      options.copyOnWrite.apply(toDirectory: paths.directory)
      let temporary = try CreationDirectory(for: data, copyOnWrite: options.copyOnWrite)
      try build(temporary.paths, tables, options, initialise)
      try FileSystem.fsyncFile(temporary.paths.data)
      try temporary.publishData(into: paths.directory)
    } catch {
      // If another creation was faster, the directory is a store's.
      if mode != 0o700, case .some(.none) = try? FileSystem.facts(paths.data) {
        _ = unsafe chmod(paths.directory, mode)
      }
      throw error
    }
  }

  /// Creates the files of a new store in an empty directory, and closes them.
  private static func build(
    _ paths: StorePaths, _ tables: [String], _ options: LMDBOptions,
    _ initialise: (inout LMDBWriteTransaction) throws -> Void
  ) throws {
    var options = options
    options.isReadOnly = false
    let raw = try openRaw(paths.directory, options, minimumMap: 0, deadline: options.openingDeadline)
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
