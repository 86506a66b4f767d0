#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Servers that refuse a connection or a statement: each error has a kind, and a message with a remedy.
  @Suite(
    "Refusals of a server", .serialized,
    .enabled(if: ServerInstance.isAvailable, "no PostgreSQL server is installed"))
  struct RefusalTests {
    private static let hasOpenSSL = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    @Test("a wrong password, a missing entry of pg_hba.conf, a missing role and a malformed address name their remedy")
    func users() throws {
      let port = try ErrorProbe.freePort()
      let server = try ServerInstance(
        settings: ["port": "\(port)", "listen_addresses": "127.0.0.1"],
        access: [
          "local all kvclone trust", "local all absent trust", "local all closed trust",
          "host all app 127.0.0.1/32 scram-sha-256",
        ])
      defer { server.stop() }
      try server.sql("CREATE USER app PASSWORD '\(ErrorProbe.password)'")
      try server.sql("CREATE DATABASE closed")
      try server.sql("REVOKE CONNECT ON DATABASE closed FROM PUBLIC; CREATE USER closed")
      let network = "host=127.0.0.1 port=\(port) dbname=postgres passfile=/nonexistent sslmode=disable"
      let remedy = "check the user, the password (.pgpass or a service file) and pg_hba.conf"
      ErrorProbe.check(network + " user=app password=\(ErrorProbe.wrongPassword)", .io, remedy)
      ErrorProbe.check(network + " user=app", .io, remedy)
      ErrorProbe.check(network + " user=kvclone", .io, remedy)
      ErrorProbe.check(server.address + " user=absent", .io, remedy)
      ErrorProbe.check(server.address + " dbname=missing", .storeNotFound, "create the database")
      ErrorProbe.check(server.address + " user=closed dbname=closed", .io, "grant the user")
      // The same server with the password, to know that it was the reason.
      ErrorProbe.check(
        network + " user=app password=\(ErrorProbe.password)", .storeNotFound, "kvclone cluster install")
      for address in [
        "postgresql://app:\(ErrorProbe.password)%zz@127.0.0.1:\(port)/postgres",
        "host=127.0.0.1 user=app password=two \(ErrorProbe.password)",
      ] {
        ErrorProbe.check(address, .io, "keep passwords in .pgpass")
      }
      // The first host does not answer; the reason of the second one is what can be fixed.
      let two = "host=127.0.0.1,127.0.0.1 port=1,\(port) dbname=postgres sslmode=disable"
      ErrorProbe.check(two + " user=app password=\(ErrorProbe.wrongPassword)", .io, remedy)
      ErrorProbe.check("host=127.0.0.1 port=1", .io, "check the address, and whether the server runs")
    }

    // MARK: Certificates

    /// Makes a certificate for a name, signed by the authority `ca` of the directory.
    private func makeCertificate(_ directory: String, _ file: String, _ name: String, days: Int) throws {
      let base = directory + "/" + file
      try Data("subjectAltName=\(name)\n".utf8).write(to: URL(fileURLWithPath: base + ".ext"))
      try ServerInstance.run([
        "openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=server", "-keyout", base + ".key", "-out",
        base + ".csr",
      ])
      try ServerInstance.run([
        "openssl", "x509", "-req", "-in", base + ".csr", "-CA", directory + "/ca.crt", "-CAkey",
        directory + "/ca.key", "-CAcreateserial", "-extfile", base + ".ext", "-days", "\(days)", "-out",
        base + ".crt",
      ])
    }

    @Test(
      "an expired certificate, one for another name and missing encryption name their remedy",
      .enabled(if: hasOpenSSL, "openssl is not installed"))
    func certificates() throws {
      let port = try ErrorProbe.freePort()
      let server = try ServerInstance(
        settings: ["port": "\(port)", "listen_addresses": "127.0.0.1"],
        access: ["local all all trust", "host all all 127.0.0.1/32 trust"])
      defer { server.stop() }
      let directory = server.directory
      let network = "host=127.0.0.1 port=\(port) user=kvclone dbname=postgres sslrootcert=\(directory)/ca.crt"
      let remedy = "the dates and names of the server's certificate"
      ErrorProbe.check(network + " sslmode=require", .io, remedy)
      try ServerInstance.run([
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "10", "-subj", "/CN=ca", "-keyout",
        directory + "/ca.key", "-out", directory + "/ca.crt",
      ])
      for (file, name, days) in [
        ("valid", "IP:127.0.0.1", 10), ("expired", "IP:127.0.0.1", -1), ("other", "DNS:other.example", 10),
      ] {
        try makeCertificate(directory, file, name, days: days)
        try server.sql("ALTER SYSTEM SET ssl = on")
        try server.sql("ALTER SYSTEM SET ssl_cert_file = '\(directory)/\(file).crt'")
        try server.sql("ALTER SYSTEM SET ssl_key_file = '\(directory)/\(file).key'")
        try ErrorProbe.reload(server)
        if file == "valid" {
          // It connects, and the schema is missing.
          ErrorProbe.check(network + " sslmode=verify-full", .storeNotFound, "kvclone cluster install")
          ErrorProbe.check(network + " sslmode=verify-full sslrootcert=/nonexistent/ca.crt", .io, remedy)
        } else {
          ErrorProbe.check(network + " sslmode=verify-full", .io, remedy)
        }
      }
    }

    // MARK: Statements

    @Test("missing schemas and privileges, read-only sessions, timeouts and full servers name their remedy")
    func statements() throws {
      let server = try ServerInstance(settings: ["max_connections": "8", "superuser_reserved_connections": "3"])
      defer { server.stop() }
      try server.sql("CREATE USER app; REVOKE CREATE ON DATABASE postgres FROM PUBLIC")
      let app = server.address + " user=app"
      ErrorProbe.check(app, .storeNotFound, "kvclone cluster install")
      ErrorProbe.check(app, .storeNotFound, "kvclone cluster install") { try $0.upgrade() }
      ErrorProbe.check(app, .io, "CREATE on the database") { try $0.install() }
      let owner = PostgresCluster(server.address)
      let engine = try ErrorProbe.makeStore(owner)
      ErrorProbe.check(app, .io, "grant the user usage of the schema kvclone")
      try server.sql("GRANT USAGE ON SCHEMA kvclone TO app; GRANT SELECT ON kvclone.schema_version TO app")
      ErrorProbe.check(app, .io, "grant the user usage of the schema kvclone and its tables")
      try server.sql(
        """
        GRANT SELECT, INSERT, UPDATE, DELETE
        ON kvclone.store, kvclone.entry, kvclone.commit, kvclone.tally, kvclone.stager TO app
        """)
      let readOnly = app + " options='-c default_transaction_read_only=on'"
      let primary = "connect to the primary (target_session_attrs=read-write)"
      ErrorProbe.check(readOnly, .readOnly, primary) {
        try PostgresEngine.create($0, name: "other", tables: [], .metadata, [])
      }
      ErrorProbe.check(readOnly, .readOnly, primary) { try ErrorProbe.put(try PostgresEngine($0, name: "store"), [1]) }
      ErrorProbe.check(readOnly + " target_session_attrs=read-write", .busy, "after the failover")
      let writer = try engine.beginWrite(label: "holder", timeout: .seconds(5), isDryRun: false)
      ErrorProbe.check(app + " options='-c statement_timeout=500'", .io, "raise statement_timeout") {
        try ErrorProbe.put(try PostgresEngine($0, name: "store"), [1])
      }
      writer.abort()
      try server.sql("UPDATE kvclone.schema_version SET version = 9, minimum = 9")
      ErrorProbe.check(app, .newerFormat, "upgrade the library")
      try server.sql("UPDATE kvclone.schema_version SET version = 0, minimum = 0")
      ErrorProbe.check(app, .olderFormat, "kvclone cluster install --upgrade")
      try server.sql("UPDATE kvclone.schema_version SET version = 1, minimum = 1")
      #expect(try ErrorProbe.keys(engine).isEmpty)
      owner.close()
      for address in [app, server.address] {
        ErrorProbe.check(address, .busy, "raise max_connections, or lower PostgresOptions.connections") { cluster in
          let engine = try PostgresEngine(cluster, name: "store")
          var readers: [any StorageBackend] = []
          for _ in 0..<7 { readers.append(try engine.beginRead()) }
          // Seven fit for superusers, if the connections of others have ended.
          let last = PostgresCluster(address)
          defer { last.close() }
          for _ in 0..<2 { readers.append(try PostgresEngine(last, name: "store").beginRead()) }
          withExtendedLifetime(readers) {}
        }
      }
    }
  }
#endif
