#if Configuration && Postgres
  public import Configuration
  public import KVClonePostgres

  extension PostgresOptions {
    /// Creates options from a configuration. Keys without a value leave the default.
    ///
    /// The keys are the names of the options, such as `cacheBytes`. Durations are numbers of seconds.
    ///
    /// - Parameter config: the reader, scoped to the options of the cluster. One state of it is read.
    /// - Throws: an error with the key and the allowed values for a value of another type or outside its range.
    public init(config: ConfigReader) throws(StoreConfigurationError) {
      self.init()
      let reader = OptionReader(config)
      try reader.read("durability", into: &durability, from: ["server": .server, "replicated": .replicated])
      try reader.read("connections", into: &connections, atLeast: 2)
      try reader.read("cacheBytes", into: &cacheBytes)
      try reader.read("writerIdleLimit", intoInterval: &writerIdleLimit)
      try reader.read("resolveTimeout", into: &resolveTimeout)
      try reader.read("connectionTimeout", into: &connectionTimeout)
      try reader.read("watchInterval", intoInterval: &watchInterval)
      try reader.read("responseTimeout", into: &responseTimeout)
      var maximumLag: Duration?
      try reader.read("maximumLag", into: &maximumLag)
      if let maximumLag { reads = .standby(maximumLag: maximumLag) }
    }
  }

  extension PostgresCluster {
    /// Creates a cluster object from a configuration: its options, and its address with the key `address`.
    ///
    /// The address is read as a secret, so that access logs of the configuration do not contain it.
    ///
    /// - Parameter config: the reader, scoped to the cluster.
    /// - Throws: an error with the key if there is no address, or if a value cannot be used.
    public convenience init(config: ConfigReader) throws(StoreConfigurationError) {
      guard let address = try OptionReader(config).text("address", isSecret: true) else {
        throw StoreConfigurationError(missing: "address", "the address of the database server")
      }
      self.init(address, options: try PostgresOptions(config: config))
    }
  }
#endif
