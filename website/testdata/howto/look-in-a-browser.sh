clm() { interrupt "$@"; }
