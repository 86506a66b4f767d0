#if Configuration
  public import Configuration
  public import KVClone

  extension StoreOptions {
    /// Creates options from a configuration. Keys without a value leave the default.
    ///
    /// The keys are the names of the options, such as `busyTimeout`, and `groupCommit.maximumCount` and
    /// `snapshotRetention.daily` for nested ones; the article *A store in a service* lists them. Durations are numbers
    /// of seconds. The loggers, transformers and options of migrations are set in code.
    ///
    /// ```swift
    /// let config = ConfigReader(provider: EnvironmentVariablesProvider())
    /// // KVCLONE_BUSY_TIMEOUT=2.5
    /// let options = try StoreOptions(config: config.scoped(to: "kvclone"))
    /// ```
    ///
    /// - Parameter config: the reader, scoped to the options of the store. One state of it is read.
    /// - Throws: an error with the key and the allowed values for a value of another type or outside its range.
    public init(config: ConfigReader) throws(StoreConfigurationError) {
      self.init()
      let reader = OptionReader(config)
      try reader.read("busyTimeout", into: &busyTimeout)
      try reader.read("isReadOnly", into: &isReadOnly)
      try reader.read("spillBudget", into: &spillBudget)
      try reader.read(
        "journalMode", into: &journalMode, from: ["copyOnWrite": .copyOnWrite, "writeAheadLog": .writeAheadLog])
      try reader.read("walSizeLimit", into: &walSizeLimit)
      try reader.read("maximumReaders", into: &maximumReaders, atLeast: 1)
      try readPinnedSnapshots(reader)
      try reader.read("maximumObjectCount", into: &maximumObjectCount)
      try reader.read("maximumFileBytes", into: &maximumFileBytes)
      try reader.read("verifiesPagesAtOpen", into: &verifiesPagesAtOpen)
      try reader.read("usesBtrfsCopyOnWrite", into: &usesBtrfsCopyOnWrite)
      try reader.read("tracksHistory", into: &tracksHistory)
      try reader.read("author", into: &author)
      try readMigration(reader)
      let group = reader.scoped(to: "groupCommit")
      try group.read("maximumCount", into: &groupCommit.maximumCount, atLeast: 1)
      try group.read("maximumByteCount", into: &groupCommit.maximumByteCount)
      try group.read("maximumDuration", into: &groupCommit.maximumDuration)
      let retention = reader.scoped(to: "snapshotRetention")
      try retention.read("last", into: &snapshotRetention.last)
      try retention.read("hourly", into: &snapshotRetention.hourly)
      try retention.read("daily", into: &snapshotRetention.daily)
      try retention.read("weekly", into: &snapshotRetention.weekly)
    }

    /// The defaults of these two depend on the storage engine, so they are set only if the configuration has a value.
    private mutating func readPinnedSnapshots(_ reader: OptionReader) throws(StoreConfigurationError) {
      var limit: Int?
      try reader.read("pinnedSnapshotLimit", into: &limit, atLeast: 1)
      if let limit { pinnedSnapshotLimit = limit }
      let unset = Duration.seconds(-1)
      var maximumAge: Duration? = unset
      try reader.read("pinnedSnapshotMaximumAge", into: &maximumAge)
      if maximumAge != unset { pinnedSnapshotMaximumAge = maximumAge }
    }

    private mutating func readMigration(_ reader: OptionReader) throws(StoreConfigurationError) {
      var isAutomatic = false
      try reader.read("automaticMigration", into: &isAutomatic)
      if isAutomatic { automaticMigration = MigrationOptions() }
    }
  }
#endif
