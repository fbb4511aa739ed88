// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	quantities "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/signatures"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/helm/remote"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/manifests"
)

// sourcesHelp explains the arguments SOURCE of all commands that have them.
const sourcesHelp = `A SOURCE is

    a directory with Chart.yaml, or a packaged chart  a Helm chart
    a directory with a kustomization file             a kustomization, whose files are templates only if --template is given or
                                                      its file .component-config.yaml asks for it
    any other directory                               the manifests in its .yaml, .yml and .json files, but not in subdirectories
    any other file                                    manifests, used as they are
    -                                                 manifests from standard input
    oci://HOST/PATH                                   a chart in a registry; may be followed by :TAG or @DIGEST
    oci://HOST/PATH//DIRECTORY                        an artifact that flux or oras has pushed, or a directory in it; likewise
    git::https://HOST/PATH//DIRECTORY                 a directory or file in a Git repository, also git::ssh:// and git::file://; may be followed
                                                      by ?ref=BRANCH, ?ref=TAG or ?ref=COMMIT; without //DIRECTORY, all of it
    https://HOST/PATH#CHART                           a chart in a repository (CHART --repo URL in helm); may be followed
                                                      by :VERSION
    REPO/CHART                                        the same, with the name that "clm repo add" or "helm repo add" has given to the
                                                      repository, if there is no file or folder with this path
    https://HOST/PATH                                 a packaged chart, or manifests, at this URL

Several sources make up one release, in the given order. Values are for charts and templates; they are merged as Helm does. For registries,
clm uses the credentials that "clm registry login", Helm or Docker have stored, for REPO/CHART those of "clm repo add" or "helm repo add", and for Git those of git.`

// sourceFlags are the sources of a command, and its flags about them.
type sourceFlags struct {
	references  []string
	options     sources.Options
	restrictor  choice
	policyRules string
	hooks       []string
	signers     signerFlags
	// postRenderer is a command, followed by its arguments.
	postRenderer     string
	postRendererArgs []string

	// strict refuses values that no source takes. Otherwise, unknown has a text about each of them after load.
	strict  bool
	unknown []string

	// kubeVersion and apiVersions are what templates see without a cluster.
	kubeVersion string
	apiVersions []string
}

// The values of flag --load-restrictor are those of kustomize.
const (
	restrictToRoots = "LoadRestrictionsRootOnly"
	restrictNothing = "LoadRestrictionsNone"
)

func addSourceFlags(flags *pflag.FlagSet, f *sourceFlags) {
	flags.StringSliceVarP(&f.options.ValuesFiles, "values", "f", nil, "`file` with values, or - for standard input; later files override earlier ones (may be repeated)")
	values := flags.Lookup("values")
	values.Value, values.DefValue = filePaths{values.Value}, ""
	flags.StringArrayVar(&f.options.SetJSON, "set-json", nil, "`values` in JSON, such as a.b=[1,2] or {\"a\": 1}, that override those of files (may be repeated)")
	flags.StringArrayVar(&f.options.Set, "set", nil, "`values` that override those of files, such as a.b=1,c[0]=x (may be repeated)")
	flags.StringArrayVar(&f.options.SetString, "set-string", nil, "`values` that are always strings (may be repeated)")
	flags.StringArrayVar(&f.options.SetFile, "set-file", nil, "`values` to be read from files, such as a.b=path (may be repeated)")
	flags.StringArrayVar(&f.options.SetLiteral, "set-literal", nil, "`value` that is a string as it is, with commas and backslashes, such as a.b=x,y (may be repeated)")
	flags.BoolVar(&f.options.SkipDefinitions, "skip-crds", false, "leave out the CustomResourceDefinitions in the folders crds of charts")
	flags.BoolVar(&f.options.Template, "template", false, "treat the files of all directories other than charts as templates")
	f.restrictor = choice{value: restrictToRoots, allowed: []string{restrictToRoots, restrictNothing}}
	flags.Var(&f.restrictor, "load-restrictor",
		"whether kustomizations may read files outside their directories, and whether charts and kustomizations may follow symbolic links that lead out of them")
	addRemoteFlags(flags, &f.options.Remote, &f.signers)
	flags.StringSliceVar(&f.hooks, "hooks", nil, hooksUsage)
	flags.Var(filePath(&f.postRenderer), "post-renderer",
		"`command` that changes the rendered objects of a chart: it gets them as YAML on standard input, and writes those to use to standard output")
	flags.StringArrayVar(&f.postRendererArgs, "post-renderer-args", nil, "`argument` of the post-renderer (may be repeated)")
	flags.Var(filePath(&f.policyRules), "policy-rules", "`file` with rules that set annotations, such as waves and policies, on the objects of the sources")
}

// addRemoteFlags adds the flags of commands that fetch charts.
func addRemoteFlags(flags *pflag.FlagSet, o *remote.Options, s *signerFlags) {
	flags.StringVar(&o.Version, "version", "", "`version` of charts and artifacts whose references have none, or a range such as ^1.2 (default the latest stable version)")
	addAccessFlags(flags, o)
	flags.BoolVar(&s.verify, "verify", false, "refuse charts without a valid signature by a key in --keyring, and sources that cannot have one")
	home, _ := os.UserHomeDir()
	s.keyring = filepath.Join(home, ".gnupg", "pubring.gpg")
	keyring := flags.VarPF(filePath(&s.keyring), "keyring", "", "`file` with the public keys for --verify (default that of GnuPG, ~/.gnupg/pubring.gpg)")
	keyring.DefValue = "" // it differs from user to user
	flags.Var(filePath(&s.key), "cosign-key", "`file` with the public key with which sources must have been signed by cosign, or any other value of its flag --key")
	flags.StringVar(&s.identity, "certificate-identity", "", "`identity` in the certificate with which sources must have been signed by cosign; needs --certificate-oidc-issuer")
	flags.StringVar(&s.issuer, "certificate-oidc-issuer", "", "`URL` of the issuer of --certificate-identity")
}

// signerFlags are the flags about who must have signed the sources.
type signerFlags struct {
	verify                         bool
	keyring, key, identity, issuer string
}

// demands returns what the flags demand, each for itself.
func (s *signerFlags) demands() (demands []remote.Demand, err error) {
	add := func(flag string, isSet bool, signer remote.Signer) {
		if failure := signer.Check(); isSet && failure != nil {
			err = fmt.Errorf("flag %s: %w", flag, failure)
		} else if isSet {
			demands = append(demands, remote.Demand{By: flag, Signers: []remote.Signer{signer}})
		}
	}
	add("--verify", s.verify, remote.Signer{Keyring: s.keyring})
	add("--cosign-key", s.key != "", remote.Signer{Cosign: map[string]string{"key": s.key}})
	add("--certificate-identity", s.identity != "" || s.issuer != "",
		remote.Signer{Cosign: map[string]string{"certificate-identity": s.identity, "certificate-oidc-issuer": s.issuer}})
	return demands, err
}

// forChart returns options for a chart that is not for a release: with what the flags and the policy demand.
func (s *signerFlags) forChart(reference string, options remote.Options) (remote.Options, error) {
	var err error
	if options.Signatures, err = s.demands(); err != nil {
		return options, err
	}
	return signatures.Require(options, reference, "")
}

// addAccessFlags adds the flags for credentials and connections.
func addAccessFlags(flags *pflag.FlagSet, o *remote.Options) {
	flags.StringVar(&o.Username, "username", "", "`name` of the user for the registry or repository of charts")
	flags.StringVar(&o.Password, "password", "", "`password` for the registry or repository of charts")
	addTransportFlags(flags, &o.CAFile, &o.PlainHTTP)
}

// addTransportFlags adds the flags for connections to registries and repositories.
func addTransportFlags(flags *pflag.FlagSet, caFile *string, plainHTTP *bool) {
	flags.Var(filePath(caFile), "ca-file", "`file` with CA certificates to trust for registries and repositories of charts, in addition to those of the system")
	flags.BoolVar(plainHTTP, "plain-http", false, "use HTTP, without encryption, for registries, and allow it for repositories of charts")
}

const (
	// noHooks is the value of --hooks that turns off --hooks of earlier applies.
	noHooks    = "none"
	hooksUsage = "`tools` whose annotations for hooks and waves are honored: argocd, helm (Helm's are always honored in charts)"
)

// load reads the sources, with their values and policy rules.
func (f *sourceFlags) load(ctx context.Context, e *environment) (*sources.Set, error) {
	options := f.options
	options.Stdin = e.in
	if !slices.Equal(f.hooks, []string{noHooks}) {
		options.Hooks = f.hooks
	}
	if f.postRenderer != "" {
		options.PostRenderer = append([]string{f.postRenderer}, f.postRendererArgs...)
	} else if len(f.postRendererArgs) > 0 {
		return nil, errors.New("flag --post-renderer-args needs --post-renderer")
	}
	options.Unrestricted = f.restrictor.value == restrictNothing
	var err error
	if options.Remote.Signatures, err = f.signers.demands(); err != nil {
		return nil, err
	}
	if options.Namespace, err = e.namespace(); err != nil {
		return nil, err
	}
	if f.policyRules != "" {
		document, err := os.ReadFile(f.policyRules)
		if err != nil {
			return nil, fmt.Errorf("reading policy rules: %w", err)
		}
		if options.PolicyRules, err = manifests.ParsePolicyRules(document); err != nil {
			return nil, fmt.Errorf("parsing policy rules %s: %w", f.policyRules, err)
		}
	}
	defer e.announce("reading the sources")()
	set, err := sources.Load(ctx, f.references, options)
	if err == nil {
		f.unknown, err = unknownValues(set, f.strict)
	}
	return set, err
}

// unknownValues returns a text about each value that no source takes, which Helm ignores silently. If strict is set, the
// error is a RefusedError with these texts.
func unknownValues(set *sources.Set, strict bool) ([]string, error) {
	unknown, err := set.UnknownValues()
	if err != nil {
		return nil, err
	}
	texts := display.Map(unknown, func(value sources.UnknownIn) string {
		text := fmt.Sprintf("chart %s has no value %s", value.Chart, value.Path)
		if value.Suggestion != "" {
			text += "; did you mean " + value.Suggestion + "?"
		}
		return text
	})
	if strict && len(texts) > 0 {
		return nil, releases.Refused("--strict allows only values that a chart has: %s", strings.Join(texts, "; "))
	}
	return texts, nil
}

// noteUnknown tells people about values that no source takes.
func (e *environment) noteUnknown(texts []string) {
	for _, text := range texts {
		fmt.Fprintln(e.err, "note:", display.Clean(text))
	}
}

const strictUsage = "refuse values that no chart has, and fields that the types of objects do not have"

// addOfflineFlags adds the flags of commands that render without a cluster.
func addOfflineFlags(flags *pflag.FlagSet, f *sourceFlags) {
	flags.StringVar(&f.kubeVersion, "kube-version", sources.DefaultKubernetesVersion, "`version` of Kubernetes that templates see")
	flags.StringSliceVar(&f.apiVersions, "api-versions", nil, "`versions` that templates see besides those of Kubernetes: group/version or group/version/Kind (may be repeated)")
}

// offline returns the client that templates use without a cluster.
func (f *sourceFlags) offline() (cluster.Client, error) {
	return sources.Offline(f.kubeVersion, f.apiVersions)
}

// flagValue is the value of a flag that a function parses.
type flagValue[T any] struct {
	// kind is the name of the value in help texts.
	kind  string
	value *T
	read  func(text string) (T, error)
}

// String returns the text of the value; pflag also calls it for the zero value.
func (v flagValue[T]) String() string {
	if v.value == nil {
		return ""
	}
	return fmt.Sprint(*v.value)
}

// Type implements pflag.Value.
func (v flagValue[T]) Type() string { return v.kind }

// Set implements pflag.Value.
func (v flagValue[T]) Set(text string) error {
	value, err := v.read(text)
	if err == nil {
		*v.value = value
	}
	return err
}

// period returns the value of a flag for a non-negative duration.
func period(value *time.Duration) pflag.Value {
	return flagValue[time.Duration]{"duration", value, func(text string) (time.Duration, error) {
		parsed, err := time.ParseDuration(text)
		if err != nil || parsed < 0 {
			return 0, fmt.Errorf("%q is not a valid duration, such as 90s, 5m, 1h30m or 0", text)
		}
		return parsed, nil
	}}
}

// maxDescription is the maximum length of a description in bytes: the index of a release contains all of them.
const maxDescription = 256

// addDescriptionFlag adds a flag for the description of a revision.
func addDescriptionFlag(flags *pflag.FlagSet, value *string) {
	flags.Var(flagValue[string]{"string", value, func(text string) (string, error) {
		switch trimmed := strings.TrimSpace(text); {
		case trimmed == "":
			return "", errors.New("it is empty")
		case len(trimmed) > maxDescription:
			return "", fmt.Errorf("it has %d bytes; must be at most %d", len(trimmed), maxDescription)
		case strings.ContainsAny(trimmed, "\r\n\t"):
			return "", errors.New("it has several lines, or tabs; must be one line")
		default:
			return trimmed, nil
		}
	}}, "description", "`text` that clm history shows with the new revision (default what clm has done)")
}

// number returns the value of a flag for integers that are not less than a minimum.
func number[T int | int64](value *T, minimum T) pflag.Value {
	return flagValue[T]{"number", value, func(text string) (T, error) {
		parsed, err := strconv.ParseInt(text, 10, 32)
		if err != nil || parsed < int64(minimum) {
			return 0, fmt.Errorf("%q is not a whole number greater than or equal to %d", text, minimum)
		}
		return T(parsed), nil
	}}
}

// labelSet returns the value of a flag for labels.
func labelSet(value *labels.Set) pflag.Value {
	return flagValue[labels.Set]{"labels", value, func(text string) (labels.Set, error) {
		parsed, err := labels.ConvertSelectorToLabelsMap(text)
		for key := range parsed {
			if releases.IsReserved(key) {
				return nil, fmt.Errorf("%s is a label that clm sets itself", key)
			}
		}
		return parsed, err
	}}
}

// byteCount is the value of a flag for a number of bytes, with or without a unit.
type byteCount int64

// String returns the number with a unit.
func (b *byteCount) String() string {
	return quantities.NewQuantity(int64(*b), quantities.BinarySI).String()
}

// Type implements pflag.Value.
func (b *byteCount) Type() string { return "quantity" }

// Set implements pflag.Value.
func (b *byteCount) Set(text string) error {
	parsed, err := quantities.ParseQuantity(text)
	count, whole := parsed.AsInt64()
	if err != nil || !whole || count < 0 {
		return fmt.Errorf("%q is not a number of bytes, such as 500Ki, 10Mi, 10M or 0", text)
	}
	*b = byteCount(count)
	return nil
}

// errNoFile refuses an empty file name, which is most likely a variable of a script that is not set.
var errNoFile = errors.New("a file name is missing")

// filePath is the value of a flag for a file.
func filePath(value *string) pflag.Value {
	return flagValue[string]{"file", value, func(text string) (string, error) {
		if text == "" {
			return "", errNoFile
		}
		return text, nil
	}}
}

// filePaths is the value of a flag for files that is given several times.
type filePaths struct{ pflag.Value }

// Set implements pflag.Value.
func (f filePaths) Set(text string) error {
	if text == "" {
		return errNoFile
	}
	return f.Value.Set(text)
}
