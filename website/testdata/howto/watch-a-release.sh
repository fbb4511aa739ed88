namespace shop
chart chart
clm apply web ./chart

clm() {
  case "$1" in
    events | logs) interrupt "$@" ;;
    *) command clm "$@" ;;
  esac
}
