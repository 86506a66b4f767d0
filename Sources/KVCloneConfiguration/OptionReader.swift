#if Configuration
  import Configuration

  /// Reads options. A key without a value leaves its option unchanged; a value that cannot be used is an error.
  struct OptionReader {
    private let config: ConfigSnapshotReader
    private let prefix: String

    /// - Parameter config: a reader, of which one state is used for all keys.
    init(_ config: ConfigReader) {
      self.init(config.snapshot(), "")
    }

    private init(_ config: ConfigSnapshotReader, _ prefix: String) {
      self.config = config
      self.prefix = prefix
    }

    func scoped(to scope: String) -> OptionReader {
      OptionReader(config.scoped(to: ConfigKey(scope)), "\(prefix)\(scope).")
    }

    // MARK: Values

    func read(_ key: String, into option: inout Bool) throws(StoreConfigurationError) {
      if let value = try value(key, "true or false", { config.bool(forKey: $0) }) { option = value }
    }

    func read(_ key: String, into option: inout Bool?) throws(StoreConfigurationError) {
      if let value = try value(key, "true or false", { config.bool(forKey: $0) }) { option = value }
    }

    func read(_ key: String, into option: inout Int, atLeast least: Int = 0) throws(StoreConfigurationError) {
      if let value = try integer(key, atLeast: least) { option = value }
    }

    func read(_ key: String, into option: inout Int?, atLeast least: Int = 0) throws(StoreConfigurationError) {
      if let value = try integer(key, atLeast: least) { option = value }
    }

    func read(_ key: String, into option: inout UInt64?) throws(StoreConfigurationError) {
      if let value = try integer(key, atLeast: 0) { option = UInt64(value) }
    }

    func read(_ key: String, into option: inout String) throws(StoreConfigurationError) {
      if let value = try text(key) { option = value }
    }

    /// Reads a duration in seconds.
    func read(_ key: String, into option: inout Duration) throws(StoreConfigurationError) {
      if let value = try duration(key, "a number of seconds that is not negative") { option = value }
    }

    /// Reads an interval in seconds.
    func read(_ key: String, intoInterval option: inout Duration) throws(StoreConfigurationError) {
      let allowed = "a number of seconds of at least 0.001"
      guard let value = try duration(key, allowed) else { return }
      if value < .milliseconds(1) { throw StoreConfigurationError(prefix + key, allowed: allowed) }
      option = value
    }

    /// Reads a duration in seconds, or `none`.
    func read(_ key: String, into option: inout Duration?) throws(StoreConfigurationError) {
      if config.string(forKey: ConfigKey(key)) == "none" {
        option = nil
      } else if let value = try duration(key, "a number of seconds that is not negative, or none") {
        option = value
      }
    }

    /// Reads one of several texts.
    func read<Value>(
      _ key: String, into option: inout Value, from values: KeyValuePairs<String, Value>
    ) throws(StoreConfigurationError) {
      let names = values.map(\.key).joined(separator: " or ")
      let found = try value(key, names) { key in
        config.string(forKey: key).flatMap { name in values.first { $0.key == name } }
      }
      if let found { option = found.value }
    }

    func text(_ key: String, isSecret: Bool = false) throws(StoreConfigurationError) -> String? {
      try value(key, "a text", isSecret: isSecret) { config.string(forKey: $0, isSecret: isSecret) }
    }

    // MARK: Inside

    private func integer(_ key: String, atLeast least: Int) throws(StoreConfigurationError) -> Int? {
      try value(key, "an integer of at least \(least)") { key in
        config.int(forKey: key).flatMap { $0 >= least ? $0 : nil }
      }
    }

    private func duration(_ key: String, _ allowed: String) throws(StoreConfigurationError) -> Duration? {
      try value(key, allowed) { key in
        // Providers do not convert integers to other numbers.
        if let seconds = config.int(forKey: key) { return seconds >= 0 ? .seconds(seconds) : nil }
        guard let seconds = config.double(forKey: key), seconds >= 0, seconds < 1e9 else { return nil }
        return .seconds(seconds)
      }
    }

    private func value<Value>(
      _ key: String, _ allowed: String, isSecret: Bool = false, _ read: (ConfigKey) -> Value?
    ) throws(StoreConfigurationError) -> Value? {
      if let value = read(ConfigKey(key)) { return value }
      if hasValue(ConfigKey(key), isSecret: isSecret) {
        throw StoreConfigurationError(prefix + key, allowed: allowed)
      }
      return nil
    }

    /// Whether a key has a value of any type. Reading another type returns nil, as for a key without a value.
    private func hasValue(_ key: ConfigKey, isSecret: Bool) -> Bool {
      config.string(forKey: key, isSecret: isSecret) != nil || config.int(forKey: key, isSecret: isSecret) != nil
        || config.double(forKey: key, isSecret: isSecret) != nil || config.bool(forKey: key, isSecret: isSecret) != nil
        || config.stringArray(forKey: key, isSecret: isSecret) != nil
        || config.intArray(forKey: key, isSecret: isSecret) != nil
        || config.doubleArray(forKey: key, isSecret: isSecret) != nil
        || config.boolArray(forKey: key, isSecret: isSecret) != nil
        || config.bytes(forKey: key, isSecret: isSecret) != nil
    }
  }
#endif
