package import KVCloneLMDB

extension StoreOptions {
  package var lmdb: LMDBOptions {
    var options = LMDBOptions()
    options.isReadOnly = isReadOnly
    options.busyTimeout = busyTimeout
    options.maximumReaders = maximumReaders
    options.keepsDeadReaders = keepsStaleReaders
    options.spillBudget = spillBudget
    options.usesCopyOnWrite = usesBtrfsCopyOnWrite
    options.walSizeLimit = journalMode == .writeAheadLog ? walSizeLimit : nil
    options.maximumFileBytes = maximumFileBytes.map { Int(clamping: $0) }
    return options
  }
}
