#if Postgres
  import CKVClonePostgres

  extension PostgresConnection {
    /// Returns the host, or the directory of the socket, and the port that an address names; nil if it names none or
    /// several, or cannot be parsed.
    static func server(of address: String) -> (address: String, port: Int?)? {
      guard let list = PQconninfoParse(address, nil) else { return nil }
      defer { PQconninfoFree(list) }
      guard let host = value(of: "host", list) ?? value(of: "hostaddr", list), !host.isEmpty, !host.contains(",")
      else { return nil }
      return (host, host.hasPrefix("/") ? nil : value(of: "port", list).flatMap { Int($0) } ?? 5432)
    }
  }
#endif
