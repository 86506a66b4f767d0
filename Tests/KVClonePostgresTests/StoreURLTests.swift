#if Postgres
  import KVClone
  import KVClonePostgres
  import Testing

  /// Parsing is tested with the command line, which shares it.
  struct StoreURLTests {
    @Test func aURLHasTheDatabaseAndTheNameOfAStore() throws {
      let url = try PostgresStoreURL("postgres://app:p%40ss@db1,db2:5433/kv/tenant%2042?sslmode=verify-full")
      #expect(url.database == "postgresql://app:p%40ss@db1,db2:5433/kv?sslmode=verify-full")
      #expect(url.name == "tenant 42")
      #expect(PostgresStoreURL.isURL("POSTGRESQL://db/kv/a") && !PostgresStoreURL.isURL("notes.kvclone"))
    }

    @Test(arguments: ["postgresql://u:sekret@db/kv", "postgresql://u:p/sekret@db/kv/t", "sekret"])
    func aMalformedURLIsAnErrorWithoutItsText(_ text: String) throws {
      let error = try #require(throws: StoreError.self) { try PostgresStoreURL(text) }
      #expect(error.kind == .invalidDestination)
      #expect(!error.message.contains("sekret") && error.message.contains("write"), "\(error.message)")
    }
  }
#endif
