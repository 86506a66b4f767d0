#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore
  import KVCloneRecords
  import KVCloneTestSupport
  import Testing

  @testable import KVClonePostgres

  /// Checks of errors, for tests with servers of their own.
  enum ErrorProbe {
    /// The passwords of the tests, which no message may contain.
    static let password = "correct-secret"
    static let wrongPassword = "wrong-secret"

    static let table = StorageTable(code: .links, handle: UInt32(TableCode.links.rawValue))

    /// Uses a cluster object of its own, and expects an error with a remedy.
    static func check(
      _ address: String, _ kind: StoreError.Kind, _ remedy: String, sourceLocation: SourceLocation = #_sourceLocation,
      _ body: (PostgresCluster) throws -> Void = { _ = try $0.stores() }
    ) {
      var options = PostgresOptions()
      options.resolveTimeout = .seconds(1)
      options.connectionTimeout = .seconds(2)
      let cluster = PostgresCluster(address, options: options)
      defer { cluster.close() }
      check(expectError(kind, sourceLocation: sourceLocation) { try body(cluster) }, remedy, sourceLocation)
    }

    static func check(_ error: StoreError?, _ remedy: String, _ sourceLocation: SourceLocation = #_sourceLocation) {
      guard let error else { return }
      #expect(error.message.contains(remedy), "\(error.message)", sourceLocation: sourceLocation)
      let texts = [error.message, "\(error)", "\(error.underlyingError.map { "\($0)" } ?? "")"]
      for text in texts where text.contains("secret") {
        Issue.record("a part of a password is in the message", sourceLocation: sourceLocation)
      }
    }

    static func makeStore(_ cluster: PostgresCluster) throws -> PostgresEngine {
      try cluster.install()
      try PostgresEngine.create(cluster, name: "store", tables: [.links], .links, [])
      return try PostgresEngine(cluster, name: "store")
    }

    static func put(_ engine: PostgresEngine, _ key: [UInt8], byteCount: Int = 1) throws {
      var transaction = StorageTransaction(
        try engine.beginWrite(label: "test", timeout: .seconds(5), isDryRun: false))
      try transaction.put(table, key, Array(repeating: 7, count: byteCount))
      try transaction.commit()
    }

    static func keys(_ engine: PostgresEngine) throws -> [[UInt8]] {
      try StorageTransaction(try engine.beginRead()).entries(table).map(\.key)
    }

    /// Waits until new connections have a changed configuration.
    static func reload(_ server: ServerInstance) throws {
      let time = "SELECT pg_conf_load_time()"
      let before = try server.sql(time)
      try server.reload()
      while try server.sql(time) == before { usleep(5_000) }
    }

    /// A port of 127.0.0.1 that no program uses at the moment.
    static func freePort() throws -> UInt16 {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = withUnsafeMutablePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
        }
      }
      guard result else { throw StoreError(.io, "no port is free") }
      return UInt16(bigEndian: address.sin_port)
    }
  }
#endif
