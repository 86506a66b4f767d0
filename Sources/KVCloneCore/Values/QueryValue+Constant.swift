package import KVCloneModel

extension QueryValue {
  package init(_ constant: QueryConstant) {
    switch constant {
    case .null: self = .null
    case .value(let value): self = QueryValue(value)
    case .object(let id): self = .object(id)
    case .list(let constants): self = .list(constants.map { QueryValue($0) })
    }
  }
}
