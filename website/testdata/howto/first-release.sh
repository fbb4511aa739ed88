# Both exist already.
make() { [ "$*" = clm ]; }
clm() { if [ "$*" = "sandbox up" ]; then echo "$KUBECONFIG"; else command clm "$@"; fi; }
