namespace shop
chart chart
echo 'The color is {{ .Values.color }}.' > chart/templates/NOTES.txt
clm apply web ./chart

clm() {
  case "$1" in
    events | logs) interrupt "$@" ;;
    *) command clm "$@" ;;
  esac
}

before_2() {
  for color in red green; do
    clm apply web ./chart --set color=$color
  done
}
