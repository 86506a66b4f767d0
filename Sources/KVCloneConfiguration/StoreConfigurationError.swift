#if Configuration
  public import KVClone

  /// An error of a configuration value: the key, and the values that are allowed. The value itself is left out.
  public struct StoreConfigurationError: KVCloneError, Hashable {
    /// The key, without the scope of its reader, such as `busyTimeout`.
    public let key: String
    /// The key and the allowed values in one line of text.
    public let message: String

    /// The stable text `invalidConfiguration`.
    public var kindName: String { "invalidConfiguration" }
    /// Nil: the error concerns no entity.
    public var entity: String? { nil }
    /// Nil: the error concerns no property.
    public var property: String? { nil }
    /// Nil: the error concerns no object.
    public var object: String? { nil }

    init(_ key: String, allowed: String) {
      self.key = key
      message = "the configuration value of \(key) is not \(allowed); correct it, or remove it for the default"
    }

    init(missing key: String, _ meaning: String) {
      self.key = key
      message = "the configuration has no value for \(key), \(meaning); add it"
    }
  }
#endif
