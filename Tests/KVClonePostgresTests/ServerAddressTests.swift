#if Postgres
  import Testing

  @testable import KVClonePostgres

  /// The server that spans name is the one of the address.
  struct ServerAddressTests {
    @Test(arguments: [
      ("postgresql://app@db.example/notes", "db.example", 5432),
      ("postgresql://app:secret@db.example:6000/notes", "db.example", 6000),
      ("host=10.0.0.7 port=5433 dbname=notes", "10.0.0.7", 5433),
    ])
    func anAddressWithOneHostNamesItsServer(address: String, host: String, port: Int) throws {
      let server = try #require(PostgresConnection.server(of: address))
      #expect(server.address == host)
      #expect(server.port == port)
    }

    @Test func aSocketHasNoPort() throws {
      let server = try #require(PostgresConnection.server(of: "host=/var/run/postgresql dbname=notes"))
      #expect(server.address == "/var/run/postgresql")
      #expect(server.port == nil)
    }

    @Test(arguments: ["postgresql://db1,db2/notes", "dbname=notes", "not an address"])
    func withoutASingleHostNoServerIsNamed(address: String) {
      #expect(PostgresConnection.server(of: address) == nil)
    }
  }
#endif
