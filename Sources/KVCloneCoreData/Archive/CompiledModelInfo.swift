/// The content of `VersionInfo.plist` in a bundle of compiled models.
struct CompiledModelInfo {
  /// The name of the current version; nil if the file has none.
  let current: String?
  /// The names of the entities of each version, for which the file has Core Data's version hashes.
  let entities: [String: Set<String>]

  /// Nil if the bytes are not a property list of that form.
  init?(_ bytes: [UInt8]) {
    do throws(PropertyList.Malformed) {
      var list = try PropertyList(bytes)
      let root = try list.indexes(at: list.top)
      var current: String?
      if let index = root["NSManagedObjectModel_CurrentVersionName"], case .string(let name) = try list.value(at: index)
      {
        current = name
      }
      var entities: [String: Set<String>] = [:]
      if let index = root["NSManagedObjectModel_VersionHashes"] {
        for (version, hashes) in try list.indexes(at: index) {
          entities[version] = Set(try list.indexes(at: hashes).keys)
        }
      }
      self.current = current
      self.entities = entities
    } catch {
      return nil
    }
  }
}
