#if Postgres
  import Foundation

  extension ServerInstance {
    /// Replaces the data of the killed server by a copy of another server, and starts it as a standby of that server,
    /// at the same address.
    ///
    /// - Parameter name: its `application_name`, by which `synchronous_standby_names` of the primary lists it.
    package func rebuild(asStandbyOf primary: ServerInstance, name: String) throws {
      removeLocks()
      try FileManager.default.removeItem(atPath: data)
      try Self.run([
        try Self.program("pg_basebackup"), "-D", data, "-R", "-c", "fast", "--no-sync", "-d",
        primary.address + " application_name=\(name)",
      ])
      try start()
    }

    /// Starts the server again after ``kill()``.
    package func restart() throws {
      removeLocks()
      try start()
    }

    /// Removes the lock files of the killed server. It seems to run if another process has its id, or if no process has
    /// collected it.
    private func removeLocks() {
      for path in [data + "/postmaster.pid", directory + "/.s.PGSQL.5432", directory + "/.s.PGSQL.5432.lock"] {
        try? FileManager.default.removeItem(atPath: path)
      }
    }
  }
#endif
