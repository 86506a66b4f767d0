import KVCloneRecords

extension SchemaTables {
  package static func open(_ engine: any StorageEngine, _ metadata: StorageTable, _ catalog: StoreCatalog)
    throws(StoreError) -> SchemaTables
  {
    let tables = try engine.openTables(catalog.tableCodes, create: false)
    let byCode = Dictionary(tables.map { ($0.code, $0) }, uniquingKeysWith: { first, _ in first })
    func table(_ code: TableCode) -> StorageTable { byCode[code] ?? metadata }
    return SchemaTables(
      metadata: table(.metadata), links: table(.links), blobs: table(.blobs), blobinfo: table(.blobInfo),
      indexes: table(.indexes), changes: table(.changes), preimages: table(.preimages),
      snapshots: table(.snapshots), provenance: table(.provenance), operations: table(.operations),
      redirects: table(.redirects),
      objects: Dictionary(
        catalog.allRootCodes.map { ($0, table(.objects(rootCode: $0))) }, uniquingKeysWith: { first, _ in first }))
  }
}
