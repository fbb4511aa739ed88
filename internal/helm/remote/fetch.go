// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"go.yaml.in/yaml/v2"
	"helm.sh/helm/v3/pkg/helmpath"
	"helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/repo"
	"oras.land/oras-go/v2"
	orasremote "oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/component-operator/runtime/internal/manifest"
)

// Options configure a fetch. The zero value works for everything that is public.
type Options struct {
	// Version is a version, or a range of versions. It applies if the reference has none itself. Defaults to the newest
	// version other than a pre-release.
	Version string
	// PlainHTTP allows unencrypted connections, and uses them for registries. Defaults to false.
	PlainHTTP bool
	// CAFile is a PEM file with certificate authorities to trust in addition to those of the system. Defaults to none.
	CAFile string
	// Username and Password are sent only to the origin of the reference. Default to none; for registries, to the
	// credentials of Helm and Docker.
	Username, Password string
	// Unpack is an empty folder for the files of Git repositories, and of artifacts other than charts. Defaults to none:
	// such references are errors.
	Unpack string
	// Signatures are demands, each of which must be met. Defaults to none.
	Signatures []Demand

	// origin is the origin of the reference or of its repository. Only this origin gets credentials.
	origin string
	// The following fields are set only for named repositories: the client certificate with its key, whether to accept
	// any server certificate, and whether all origins may get the credentials.
	certFile, keyFile         string
	insecure, passCredentials bool
}

// File is a fetched file, or a folder.
type File struct {
	// Name is a file name without a folder, for messages.
	Name    string
	Content []byte
	// Folder is the path in Options.Unpack of the file or folder, if it was unpacked there. It has no Name and Content
	// then.
	Folder string
	// Digest identifies what was fetched: sha256:HEX of a manifest in a registry or of a file at a URL, or a commit.
	Digest string

	// SignedBy is who has signed it, if that was demanded: keys with their fingerprints, or identities with their issuers.
	SignedBy string

	// version is the version of a chart from a repository or registry, provenance its signature if requested.
	version    string
	provenance []byte
}

// Fetch fetches the file or folder of a reference. It ends with the context. Errors do not contain the reference.
func (r Reference) Fetch(ctx context.Context, options Options) (File, error) {
	if r.TakesVersion() {
		r.version = options.Version
	}
	f, err := newFetcher(ctx, r.url, options.withRepository(r.repository))
	if err != nil {
		return File{}, err
	}
	defer f.client.CloseIdleConnections()
	return f.fetch(ctx, r)
}

// fetch fetches the file or folder of a reference, if its signatures are those that are demanded.
func (f *fetcher) fetch(ctx context.Context, r Reference) (File, error) {
	switch {
	case r.gitRef != "":
		if err := Unsigned(f.options.Signatures); err != nil {
			return File{}, err
		}
		commit, err := r.clone(ctx, f.options)
		return File{Folder: r.folder, Digest: commit}, err
	case r.url.Scheme == schemeOCI:
		return f.pull(ctx, r)
	case r.chart != "":
		return f.fromRepository(ctx, r)
	default:
		return f.getSigned(ctx, r.url)
	}
}

// fetcher fetches one reference.
type fetcher struct {
	client  *http.Client
	options Options
}

// newFetcher returns a fetcher that sends credentials only to the origin of the URL. The caller closes the idle
// connections of its client.
func newFetcher(ctx context.Context, own *url.URL, options Options) (*fetcher, error) {
	options.origin = options.originOf(own)
	client, err := newClient(ctx, options)
	return &fetcher{client: client, options: options}, err
}

// credentials returns the credentials for a URL.
func (f *fetcher) credentials(to *url.URL) (username, password string) {
	if !f.options.mayAuthenticate(to) {
		return "", ""
	}
	return f.options.Username, f.options.Password
}

// get fetches a file by HTTP.
func (f *fetcher) get(ctx context.Context, from *url.URL) (File, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), http.NoBody)
	if err != nil {
		return File{}, err
	}
	request.Header.Set("User-Agent", userAgent)
	if username, password := f.credentials(from); username != "" || password != "" {
		request.SetBasicAuth(username, password)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return File{}, withoutURL(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return File{}, refused(from.Host, response.StatusCode, fmt.Errorf("%s responded with %s", from.Host, response.Status))
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return File{}, fmt.Errorf("reading the answer of %s: %w", from.Host, err)
	}
	return File{Name: path.Base(from.Path), Content: content, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(content))}, nil
}

// withoutURL removes the method and URL with which the HTTP client prefixes its errors.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// refused adds advice to the error of a response, if possible.
func refused(host string, status int, err error) error {
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) {
		status = answer.StatusCode
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden || errors.Is(err, auth.ErrBasicCredentialNotFound) {
		return fmt.Errorf("%w; user name and password are missing or wrong: set them or, for a registry, run \"clm registry login %s\"", err, host)
	}
	return err
}

// index is the part of a repository's index.yaml that is used.
type index struct {
	Entries map[string][]*entry `yaml:"entries"`
}

// entry is one version of a chart.
type entry struct {
	Version string   `yaml:"version"`
	URLs    []string `yaml:"urls"`
}

// fromRepository fetches a chart from a repository, using its index.
func (f *fetcher) fromRepository(ctx context.Context, reference Reference) (File, error) {
	file, err := f.get(ctx, reference.url.JoinPath("index.yaml"))
	if err != nil {
		return File{}, fmt.Errorf("fetching the index of the repository: %w", err)
	}
	var content index
	if err := manifest.CheckSize(file.Content); err != nil {
		return File{}, fmt.Errorf("parsing the index of the repository: %w", err)
	}
	if err := yaml.Unmarshal(file.Content, &content); err != nil {
		return File{}, fmt.Errorf("parsing the index of the repository: %w", err)
	}
	found, err := content.find(reference.chart, reference.version)
	if err != nil {
		return File{}, err
	}
	// Relative URLs are relative to the repository, not to its index.
	base := *reference.url
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	target, err := base.Parse(found.URLs[0])
	if err != nil {
		return File{}, fmt.Errorf("version %s of chart %s has the invalid URL %q", found.Version, reference.chart, found.URLs[0])
	}
	if target.Scheme == schemeOCI {
		listed, err := Parse(target.String())
		if err != nil {
			return File{}, fmt.Errorf("version %s has the invalid URL %s: %w", found.Version, target, err)
		}
		listed.version = found.Version
		return f.pull(ctx, listed)
	}
	if f.options.originOf(target) == f.options.origin && target.RawQuery == "" {
		// A token in the query of the repository's URL applies to all its files.
		target.RawQuery = base.RawQuery
	}
	fetched, err := f.getSigned(ctx, target)
	if err != nil {
		return File{}, fmt.Errorf("fetching version %s of chart %s: %w", found.Version, reference.chart, err)
	}
	fetched.version = found.Version
	return fetched, nil
}

// getSigned fetches a file by HTTP, if its signatures are those that are demanded.
func (f *fetcher) getSigned(ctx context.Context, from *url.URL) (File, error) {
	file, err := f.get(ctx, from)
	if err == nil && f.options.needsProvenance() {
		beside := *from
		beside.Path, beside.RawPath = from.Path+signatureSuffix, ""
		signature, failure := f.get(ctx, &beside)
		if failure != nil {
			return File{}, fmt.Errorf("fetching the signature: %w", failure)
		}
		file.provenance = signature.Content
	}
	if err == nil {
		err = f.verify(ctx, &file, nil)
	}
	return file, err
}

// find returns the newest matching version of the chart. It has at least one URL.
func (i index) find(chart, wanted string) (*entry, error) {
	if len(i.Entries) == 0 {
		return nil, errors.New("there are no charts in the index of the repository")
	}
	usable := map[string]*entry{}
	var versions []*semver.Version
	for _, candidate := range i.Entries[chart] {
		if candidate == nil || len(candidate.URLs) == 0 || usable[candidate.Version] != nil {
			continue
		}
		if version, err := semver.NewVersion(candidate.Version); err == nil {
			usable[candidate.Version] = candidate
			versions = append(versions, version)
		}
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("there is no chart %q in the index of the repository", chart)
	}
	slices.SortStableFunc(versions, func(a, b *semver.Version) int { return b.Compare(a) })
	names := make([]string, len(versions))
	for i, version := range versions {
		names[i] = version.Original()
	}
	found, err := choose(names, wanted)
	if err != nil {
		return nil, fmt.Errorf("chart %q: %w", chart, err)
	}
	return usable[found], nil
}

// registryConfigVariable is the environment variable with the path of Helm's registry credentials.
const registryConfigVariable = "HELM_REGISTRY_CONFIG"

// pull fetches a chart or another artifact from a registry.
func (f *fetcher) pull(ctx context.Context, reference Reference) (File, error) {
	host := reference.url.Host
	name := host + reference.url.Path
	client, repository, err := f.registryClients(reference.url)
	if err != nil {
		return File{}, err
	}
	if reference.suffix == "" {
		tag, err := findTag(client, name, reference.version)
		if err != nil {
			return File{}, refused(host, 0, err)
		}
		reference.suffix = ":" + tag
	}
	file, layers, err := f.pullFrom(ctx, client, repository, reference)
	if err == nil {
		err = f.verify(ctx, &file, reference.url)
	}
	if err == nil && layers != nil {
		err = unpack(f.options.Unpack, func(files *unpacker) error { return files.artifact(ctx, repository, layers) })
	}
	if err != nil {
		return File{}, refused(host, 0, fmt.Errorf("pulling %s%s: %w", name, reference.suffix, err))
	}
	return file, nil
}

// pullFrom reads the manifest of a reference, and fetches the chart that it describes. It returns the layers of another
// artifact.
func (f *fetcher) pullFrom(
	ctx context.Context, client *registry.Client, repository *orasremote.Repository, reference Reference,
) (File, []ocispec.Descriptor, error) {
	tag := strings.ReplaceAll(strings.TrimLeft(reference.suffix, ":@"), "+", "_") // as in Helm
	found, raw, err := oras.FetchBytes(ctx, repository, tag, oras.DefaultFetchBytesOptions)
	var content ocispec.Manifest
	if err == nil {
		err = json.Unmarshal(raw, &content)
	}
	if err != nil {
		return File{}, nil, err
	}
	digest := found.Digest.String()
	if len(content.Layers) > 0 && content.Config.MediaType != registry.ConfigMediaType {
		return File{Folder: reference.folder, Digest: digest}, content.Layers, nil
	}
	if reference.folder != "." {
		return File{}, nil, fmt.Errorf("it is a chart, which is used as a whole; leave out //%s", reference.folder)
	}
	pulled, err := client.Pull(reference.url.Host+reference.url.Path+"@"+digest, registry.PullOptWithChart(true),
		registry.PullOptWithProv(f.options.needsProvenance()), registry.PullOptIgnoreMissingProv(true))
	if err != nil {
		return File{}, nil, err
	}
	meta := pulled.Chart.Meta
	if meta == nil {
		return File{}, nil, errors.New("the chart has no metadata")
	}
	file := File{Name: fmt.Sprintf("%s-%s.tgz", meta.Name, meta.Version), Content: pulled.Chart.Data, Digest: digest, version: meta.Version}
	file.provenance = pulled.Prov.Data
	return file, nil, nil
}

func (f *fetcher) registryClient(own *url.URL, more ...registry.ClientOption) (*registry.Client, error) {
	options := slices.Concat(more, []registry.ClientOption{
		registry.ClientOptHTTPClient(f.client),
		registry.ClientOptEnableCache(true),
		registry.ClientOptCredentialsFile(os.Getenv(registryConfigVariable)),
	})
	if username, password := f.credentials(own); username != "" || password != "" {
		options = append(options, registry.ClientOptBasicAuth(username, password))
	}
	if f.options.PlainHTTP {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	return registry.NewClient(options...)
}

// credentialsFile returns the path of Helm's credentials for registries.
func credentialsFile() string {
	return cmp.Or(os.Getenv(registryConfigVariable), helmpath.ConfigPath(registry.CredentialsFileBasename))
}

// registryClients returns clients of Helm and oras for a repository, with the same credentials.
func (f *fetcher) registryClients(own *url.URL) (*registry.Client, *orasremote.Repository, error) {
	file := credentialsFile()
	authorizer := auth.Client{Client: f.client, Cache: auth.NewCache(), Credential: f.credential(own, file, true)}
	encryption := func(*registry.Client) {}
	if f.options.PlainHTTP {
		encryption = registry.ClientOptPlainHTTP()
	}
	client, err := registry.NewClient(registry.ClientOptHTTPClient(f.client), registry.ClientOptCredentialsFile(file), registry.ClientOptAuthorizer(authorizer), encryption)
	if err != nil {
		return nil, nil, fmt.Errorf("reading credentials for registries: %w", err)
	}
	repository, err := orasremote.NewRepository(own.Host + own.Path)
	if err == nil {
		repository.Client, repository.PlainHTTP = &authorizer, f.options.PlainHTTP
	}
	return client, repository, err
}

// credential returns the source of credentials for a registry: the options or, as in Helm, a file and, if wanted, that of
// Docker. Helm's client has the error if the file is damaged.
func (f *fetcher) credential(own *url.URL, file string, withDocker bool) auth.CredentialFunc {
	if username, password := f.credentials(own); username != "" && password != "" {
		return auth.StaticCredential(own.Host, auth.Credential{Username: username, Password: password})
	}
	options := credentials.StoreOptions{DetectDefaultNativeStore: true}
	store, err := credentials.NewStore(file, options)
	if err != nil {
		store, _ = credentials.NewStore("", options)
	}
	if docker, err := credentials.NewStoreFromDocker(options); err == nil && withDocker {
		return credentials.Credential(credentials.NewStoreWithFallbacks(store, docker))
	}
	return credentials.Credential(store)
}

// findTag returns the tag for a version. It lists the tags only if several may match.
func findTag(client *registry.Client, name, version string) (string, error) {
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v")); err == nil {
		return version, nil
	}
	tags, err := client.Tags(name)
	if err != nil {
		return "", fmt.Errorf("listing the tags of %s: %w", name, err)
	}
	return choose(tags, version)
}

// choose returns the newest matching version.
func choose(versions []string, wanted string) (string, error) {
	found, err := registry.GetTagMatchingVersionOrConstraint(versions, wanted)
	if err != nil {
		if wanted == "" {
			return "", fmt.Errorf("there is no version other than pre-releases; specify a version or a tag; available versions: %s", some(versions))
		}
		return "", fmt.Errorf("there is no version %s; available versions: %s", wanted, some(versions))
	}
	return found, nil
}

// maxNamed is the maximum number of versions in messages.
const maxNamed = 10

// some returns a text with the first versions, which are the newest.
func some(versions []string) string {
	switch {
	case len(versions) == 0:
		return "none"
	case len(versions) > maxNamed:
		return strings.Join(versions[:maxNamed], ", ") + fmt.Sprintf(" and %d more", len(versions)-maxNamed)
	default:
		return strings.Join(versions, ", ")
	}
}

const (
	schemeOCI   = "oci"
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)

// Reference is a reference to a published chart, file or folder.
type Reference struct {
	// url is without chart and version.
	url *url.URL
	// chart is empty unless the URL is that of a repository.
	chart string
	// version is empty if the reference has none.
	version string
	// suffix is the end of a registry reference: :TAG, @DIGEST or nothing.
	suffix string
	// folder is the path of a file or folder in an artifact or a Git repository; "." is all of it.
	folder string
	// gitRef is a branch, a tag, a commit or HEAD; empty if the reference is not one to a Git repository.
	gitRef string
	// repository is Helm's entry for a repository that the reference names; otherwise nil.
	repository *repo.Entry
}

// Is reports whether a text refers to another machine.
func Is(text string) bool {
	return strings.Contains(text, "://") || strings.HasPrefix(text, gitPrefix)
}

// Parse reads a reference.
func Parse(text string) (Reference, error) {
	text, isGit := strings.CutPrefix(text, gitPrefix)
	parsed, err := url.Parse(text)
	if err != nil {
		// The error of the parser would contain the text.
		return Reference{}, errors.New("it is not a valid URL")
	}
	if _, hasPassword := parsed.User.Password(); parsed.User != nil && (hasPassword || !isGit || parsed.Scheme != schemeSSH) {
		return Reference{}, errors.New("it contains a user name or a password; set them with their own options, or for Git in a credential helper")
	}
	if parsed.Host == "" && parsed.Scheme != schemeFile {
		return Reference{}, errors.New("it does not name a host")
	}
	reference := Reference{url: parsed}
	if isGit {
		return reference.withRef()
	}
	switch parsed.Scheme {
	case schemeOCI:
		return reference.withTag()
	case schemeHTTP, schemeHTTPS:
		reference.chart, reference.version, _ = strings.Cut(parsed.Fragment, ":")
		parsed.Fragment, parsed.RawFragment = "", ""
		if reference.chart == "" && reference.version != "" {
			return Reference{}, errors.New("a version needs the name of a chart: URL#CHART:VERSION")
		}
		return reference, nil
	default:
		return Reference{}, fmt.Errorf("the scheme %q is not known; must be one of: oci, https, http, git::https, git::ssh, git::file", parsed.Scheme)
	}
}

// String returns the reference without its version, tag, digest or folder, and with the URL instead of the name of a
// repository: scheme://HOST/PATH, and #CHART in a repository. Two references to the same have the same text.
func (r Reference) String() string {
	text := strings.ToLower(r.url.Scheme+"://"+r.url.Host) + r.url.Path
	if r.chart != "" {
		text += "#" + r.chart
	}
	if r.gitRef != "" {
		text = gitPrefix + text
	}
	return text
}

// withTag moves the folder, and the tag or digest, from the path to their own fields.
func (r Reference) withTag() (Reference, error) {
	path := r.url.Path
	if name, digest, ok := strings.Cut(path, "@"); ok {
		path, r.suffix = name, "@"+digest
	} else if i := strings.LastIndex(path, ":"); i > strings.LastIndex(path, "/") {
		path, r.suffix = path[:i], path[i:]
	}
	path, folder, ok := withoutFolder(path)
	if !ok || strings.Trim(path, "/") == "" || folder != "." && strings.Contains(path, ":") || r.url.RawQuery != "" || r.url.Fragment != "" {
		return Reference{}, errors.New("must be oci://HOST/PATH, optionally followed by :TAG or @DIGEST; a directory in an artifact precedes them: oci://HOST/PATH//DIRECTORY:TAG")
	}
	r.url.Path, r.url.RawPath, r.folder = path, "", folder
	return r, nil
}

// Find reads a reference in any form. It returns nil if the text is the path of a file or folder, which need not exist.
func Find(text string) (*Reference, error) {
	if Is(text) {
		parsed, err := Parse(text)
		return &parsed, err
	}
	_, missing := os.Stat(text)
	if !errors.Is(missing, fs.ErrNotExist) || !named.MatchString(text) {
		return nil, nil
	}
	parsed, err := ParseNamed(text)
	if err != nil {
		return nil, fmt.Errorf("%w; nor is it REPO/CHART: %w", missing, err)
	}
	return &parsed, nil
}

// withoutFolder splits a path at the first double slash. It reports whether the folder, by default ".", is valid.
func withoutFolder(path string) (before, folder string, ok bool) {
	before, folder, _ = strings.Cut(path, "//")
	folder = cmp.Or(strings.TrimSuffix(folder, "/"), ".")
	return before, folder, fs.ValidPath(folder)
}

// Pinned returns a reference to exactly what was fetched: an artifact or a chart in a registry by its digest, and a commit
// of a Git repository. Others stay as they are.
func Pinned(reference, digest string) string {
	if digest == "" {
		return reference
	}
	if strings.HasPrefix(reference, schemeOCI+"://") {
		name, _, _ := strings.Cut(reference, "@")
		if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
			name = name[:i]
		}
		return name + "@" + digest
	}
	if strings.HasPrefix(reference, gitPrefix) {
		name, _, _ := strings.Cut(reference, "?")
		return name + "?ref=" + digest
	}
	return reference
}

// TakesVersion reports whether Options.Version applies because the reference has no version.
func (r Reference) TakesVersion() bool {
	isFixed := r.url.Scheme != schemeOCI && r.chart == ""
	return !isFixed && r.version == "" && r.suffix == ""
}

// UnknownRepositoryError means that no repository has the given name.
type UnknownRepositoryError struct {
	Name string
	// Known are the names of the existing repositories.
	Known []string
}

func (e *UnknownRepositoryError) Error() string {
	return fmt.Sprintf("there is no repository %s; known repositories: %s; to add it: clm repo add %s URL", e.Name, some(e.Known), e.Name)
}

// repositoryOf returns the known repository with the given name. The error is an UnknownRepositoryError.
func repositoryOf(name string, known []*repo.Entry) (*repo.Entry, error) {
	i := slices.IndexFunc(known, func(entry *repo.Entry) bool { return entry.Name == name })
	if i < 0 {
		return nil, &UnknownRepositoryError{Name: name, Known: Names(known)}
	}
	return known[i], nil
}

// Names returns the names of repositories, sorted.
func Names(repositories []*repo.Entry) []string {
	var names []string
	for _, entry := range repositories {
		names = append(names, entry.Name)
	}
	slices.Sort(names)
	return names
}

// named matches REPO/CHART, optionally followed by :VERSION. A path that begins with a dot does not match.
var named = regexp.MustCompile(`^([^./:@\s][^/:@\s]*)/([^./:@\s][^/:@\s]*)(?::([^/:@\s]+))?$`)

// ParseNamed reads a reference in the form REPO/CHART, and takes the URL and the credentials of the repository from
// Helm's repositories.yaml. If there is no such repository, the error is an UnknownRepositoryError.
func ParseNamed(text string) (Reference, error) {
	parts := named.FindStringSubmatch(text)
	if parts == nil {
		return Reference{}, errors.New("must be REPO/CHART, optionally followed by :VERSION")
	}
	known, err := Repositories()
	if err != nil {
		return Reference{}, err
	}
	entry, err := repositoryOf(parts[1], known)
	if err != nil {
		return Reference{}, err
	}
	parsed, err := urlOf(entry)
	return Reference{url: parsed, chart: parts[2], version: parts[3], repository: entry}, err
}

// urlOf returns the URL of a repository.
func urlOf(entry *repo.Entry) (*url.URL, error) {
	parsed, err := url.Parse(entry.URL)
	switch {
	case err != nil:
		// The URL may contain a password.
		return nil, fmt.Errorf("repository %s has an invalid URL; must be https://HOST/PATH", entry.Name)
	case parsed.User != nil:
		return nil, fmt.Errorf("the URL of repository %s contains a user name; to set user name and password: clm repo add --username", entry.Name)
	case parsed.Host == "" || parsed.Scheme != schemeHTTP && parsed.Scheme != schemeHTTPS:
		return nil, fmt.Errorf("repository %s has the URL %q; must be https://HOST/PATH", entry.Name, entry.URL)
	default:
		return parsed, nil
	}
}

// withRepository completes options from the entry of a named repository. Explicit options win.
func (o Options) withRepository(entry *repo.Entry) Options {
	if entry == nil {
		return o
	}
	if o.Username == "" && o.Password == "" {
		o.Username, o.Password = entry.Username, entry.Password
		o.passCredentials = entry.PassCredentialsAll
	}
	o.CAFile = cmp.Or(o.CAFile, entry.CAFile)
	o.certFile, o.keyFile = entry.CertFile, entry.KeyFile
	o.insecure = entry.InsecureSkipTLSverify
	return o
}
