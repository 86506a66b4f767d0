package import KVClone

package let stagingModel = ManagedObjectModel("Staging") {
  EntityDescription("File") {
    AttributeDescription("data", .binary)
    AttributeDescription("archive", .transformable)
    AttributeDescription("passing", .binary, transient: true)
    AttributeDescription("name", .string)
  }
}
