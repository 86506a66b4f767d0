import KVCloneCore

extension StoreOptions {
  /// The names of options that are set to other values than their defaults, and have no effect in an engine without a
  /// data file.
  var namesWithoutDataFile: [String] {
    let usual = StoreOptions()
    return [
      ("journalMode", journalMode != usual.journalMode), ("walSizeLimit", walSizeLimit != usual.walSizeLimit),
      ("spillBudget", spillBudget != usual.spillBudget), ("maximumReaders", maximumReaders != usual.maximumReaders),
      ("usesBtrfsCopyOnWrite", usesBtrfsCopyOnWrite != usual.usesBtrfsCopyOnWrite),
    ].filter(\.1).map(\.0)
  }

  /// Logs the options that have no effect in an engine. They tune a data file, and promise nothing that the engine does
  /// not do, so that they are no reason to reject the store.
  func logUnused(by engine: any StorageEngine) {
    let names = engine.space == nil ? namesWithoutDataFile : []
    if names.isEmpty { return }
    logger?.warning(
      "StoreOptions.\(names.joined(separator: ", ")) tune a data file, and this storage engine has none; remove them")
  }
}
