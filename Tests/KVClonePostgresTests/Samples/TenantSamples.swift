#if Postgres
  import KVClone
  import KVClonePostgres

  private protocol Directory: Sendable {
    func cluster(of tenant: String) throws -> PostgresCluster
    func set(_ tenant: String, _ cluster: PostgresCluster)
  }

  private func route(_ model: ManagedObjectModel, _ directory: any Directory) async throws -> Int {
    let router = ClusterRouter(limit: 500, model: model) { tenant in
      try directory.cluster(of: tenant)
    }
    try await router.write("tenant-42") { tx in try tx.insert("Note", ["title": "Groceries"]) }
    let count = try await router.read("tenant-42") { tx in try tx.count(entity: "Note") }
    return count
  }

  private func move(_ cluster: PostgresCluster, to other: PostgresCluster, _ directory: any Directory) throws {
    try cluster.moveStore("tenant-42", to: other, didSwitch: { directory.set("tenant-42", other) })
  }
#endif
