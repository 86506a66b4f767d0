#if Configuration && Service
  public import Configuration
  public import KVCloneService

  extension StoreServiceConfiguration {
    /// Creates the configuration of a service from configuration values. Keys without a value leave the default.
    ///
    /// The keys are `name`, and `metricsInterval` and `writerPatience` as numbers of seconds. The factory of metrics is
    /// set in code.
    ///
    /// - Parameter config: the reader, scoped to the service. One state of it is read.
    /// - Throws: an error with the key and the allowed values for a value of another type or outside its range.
    public init(config: ConfigReader) throws(StoreConfigurationError) {
      self.init()
      let reader = OptionReader(config)
      name = try reader.text("name")
      try reader.read("metricsInterval", intoInterval: &metricsInterval)
      try reader.read("writerPatience", into: &writerPatience)
    }
  }
#endif
