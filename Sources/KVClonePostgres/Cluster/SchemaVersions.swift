#if Postgres
  import KVCloneCore

  /// The versions of the schema that a library can use, and the steps that raise the version.
  ///
  /// A schema has two numbers: the version of its tables, and the lowest version of a library that may use them. A
  /// library of a higher version than the tables uses them as they are.
  struct SchemaVersions: Sendable {
    /// Raises the version of the tables by one. Its statements run in a transaction with those of other steps.
    struct Step: Sendable {
      let version: Int32
      /// The lowest version of a library that may use the tables after the step: the former one if it only adds things
      /// that older libraries ignore.
      let minimum: Int32
      let statements: [String]
    }

    static let library = SchemaVersions(oldest: ClusterSchema.version, steps: [])

    static let statement = "SELECT version, minimum FROM kvclone.schema_version WHERE id = 1"

    /// The lowest version of the tables that the library can use.
    let oldest: Int32
    /// The steps behind the version that ``ClusterSchema/install`` creates, in order.
    let steps: [Step]

    /// The version of the library, which is that of the tables after all steps.
    var newest: Int32 { steps.last?.version ?? ClusterSchema.version }

    /// Returns the error for a schema that this library cannot use; nil if it can.
    ///
    /// - Parameter rows: the result of ``statement``, from `column` on.
    func refusal(_ rows: PostgresRows, from column: Int = 0) -> StoreError? {
      guard rows.count > 0, let version = rows.integer(0, column), let minimum = rows.integer(0, column + 1) else {
        return StoreError(.invalidStore, "the schema kvclone has no version; run `kvclone cluster install`")
      }
      return refusal(minimum: minimum) ?? refusal(version: version)
    }

    /// Returns the error for tables that only a newer library may use.
    func refusal(minimum: Int64) -> StoreError? {
      if minimum <= newest { return nil }
      return StoreError(
        .newerFormat,
        "the schema kvclone requires a library of schema version \(minimum), and this library has \(newest); upgrade "
          + "the library")
    }

    private func refusal(version: Int64) -> StoreError? {
      if version >= oldest { return nil }
      return StoreError(
        .olderFormat,
        "the schema kvclone has version \(version), and this library uses \(oldest) and later; run "
          + "`kvclone cluster install --upgrade`")
    }

    /// The statements that raise the version of the tables; empty if there is nothing to do.
    func upgrade(from version: Int64) -> [PostgresStatement] {
      let missing = steps.filter { $0.version > version }
      guard let last = missing.last else { return [] }
      // Open write transactions, also of older libraries, end before, and later ones find the new version. Locked
      // first, as by writers: another order could be a deadlock.
      let texts = ["LOCK TABLE kvclone.store IN EXCLUSIVE MODE"] + missing.flatMap(\.statements)
      return texts.map { PostgresStatement($0, isPrepared: false) } + [
        PostgresStatement(
          "UPDATE kvclone.schema_version SET version = $1, minimum = greatest(minimum, $2) WHERE id = 1",
          [.int4(last.version), .int4(missing.map(\.minimum).max() ?? last.minimum)])
      ]
    }
  }
#endif
