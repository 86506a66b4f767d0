#if Postgres
  /// A statement with its parameters.
  struct PostgresStatement {
    let text: String
    let values: [PostgresValue]
    /// Whether the server parses it once per connection, because it is sent often.
    let isPrepared: Bool

    /// The number of bytes of the parameters.
    var byteCount: Int { values.reduce(0) { $0 + $1.bytes.count } }

    /// - Parameter isPrepared: false for commands of transactions and for rare statements.
    init(_ text: String, _ values: [PostgresValue] = [], isPrepared: Bool = true) {
      self.text = text
      self.values = values
      self.isPrepared = isPrepared && !values.isEmpty
    }
  }
#endif
