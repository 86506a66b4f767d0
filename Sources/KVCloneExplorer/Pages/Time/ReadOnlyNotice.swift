/// The notice in place of the form of a change.
enum ReadOnlyNotice {
  static let html = Components.notice(
    "The explorer is read-only. To allow changes, start it with kvclone explore --write.")
}
