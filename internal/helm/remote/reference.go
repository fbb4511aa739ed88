// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/repo"
)

const (
	schemeOCI   = "oci"
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)

// Reference is a reference to a published chart or file.
type Reference struct {
	// url is without chart and version.
	url *url.URL
	// chart is empty unless the URL is that of a repository.
	chart string
	// version is empty if the reference has none.
	version string
	// suffix is the end of a registry reference: :TAG, @DIGEST or nothing.
	suffix string
	// repository is what Helm knows of the repository, if the reference has its name; otherwise nil.
	repository *repo.Entry
}

// Is reports whether a text is a reference to another machine.
func Is(text string) bool {
	return strings.Contains(text, "://")
}

// Parse reads a reference.
func Parse(text string) (Reference, error) {
	parsed, err := url.Parse(text)
	if err != nil {
		// The error of the parser repeats the text.
		return Reference{}, errors.New("it is not a valid URL")
	}
	if parsed.User != nil {
		return Reference{}, errors.New("it contains a user name; set user name and password with their own options")
	}
	if parsed.Host == "" {
		return Reference{}, errors.New("it does not name a host")
	}
	reference := Reference{url: parsed}
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
		return Reference{}, fmt.Errorf("the scheme %q is not known; must be one of: oci, https, http", parsed.Scheme)
	}
}

// withTag takes the tag or the digest off the path.
func (r Reference) withTag() (Reference, error) {
	if r.url.RawQuery != "" || r.url.Fragment != "" {
		return Reference{}, errors.New("must be oci://HOST/PATH, optionally followed by :TAG or @DIGEST")
	}
	path := r.url.Path
	if name, digest, ok := strings.Cut(path, "@"); ok {
		path, r.suffix = name, "@"+digest
	} else if i := strings.LastIndex(path, ":"); i > strings.LastIndex(path, "/") {
		path, r.suffix = path[:i], path[i:]
	}
	if strings.Trim(path, "/") == "" {
		return Reference{}, errors.New("it does not name a chart; must be oci://HOST/PATH, optionally followed by :TAG or @DIGEST")
	}
	r.url.Path, r.url.RawPath = path, ""
	return r, nil
}

// TakesVersion reports whether Options.Version applies, because the reference has no version.
func (r Reference) TakesVersion() bool {
	isFile := r.url.Scheme != schemeOCI && r.chart == ""
	return !isFile && r.version == "" && r.suffix == ""
}

// UnknownRepositoryError says that no repository has a name.
type UnknownRepositoryError struct {
	Name string
	// Known are the names of the repositories that there are.
	Known []string
}

func (e *UnknownRepositoryError) Error() string {
	known := "Helm has no repositories"
	if len(e.Known) > 0 {
		known = "Helm has the repositories " + strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("there is no repository %s; %s; to add it: helm repo add %s URL", e.Name, known, e.Name)
}

// Repositories returns the repositories in a file that "helm repo add" has written; none if it does not exist.
func Repositories(file string) ([]*repo.Entry, error) {
	content, err := repo.LoadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the repositories of Helm in %s: %w", file, err)
	}
	return slices.DeleteFunc(content.Repositories, func(entry *repo.Entry) bool { return entry == nil }), nil
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

// named matches REPO/CHART, which :VERSION may follow. A path that begins with a dot is none.
var named = regexp.MustCompile(`^([^./:@\s][^/:@\s]*)/([^./:@\s][^/:@\s]*)(?::([^/:@\s]+))?$`)

// IsNamed reports whether a text has the form REPO/CHART, or REPO/CHART:VERSION. Such a text may also be a path.
func IsNamed(text string) bool { return named.MatchString(text) }

// ParseNamed reads a reference in the form REPO/CHART, and takes the URL and the credentials of the repository from
// Helm's repositories.yaml. If there is no such repository, the error is an UnknownRepositoryError.
func ParseNamed(text string) (Reference, error) {
	parts := named.FindStringSubmatch(text)
	if parts == nil {
		return Reference{}, errors.New("must be REPO/CHART, optionally followed by :VERSION")
	}
	known, err := Repositories(cli.New().RepositoryConfig)
	if err != nil {
		return Reference{}, err
	}
	i := slices.IndexFunc(known, func(entry *repo.Entry) bool { return entry.Name == parts[1] })
	if i < 0 {
		return Reference{}, &UnknownRepositoryError{Name: parts[1], Known: Names(known)}
	}
	parsed, err := url.Parse(known[i].URL)
	if err != nil {
		// The URL may contain a password.
		return Reference{}, fmt.Errorf("repository %s has an invalid URL; must be https://HOST/PATH", parts[1])
	}
	if parsed.User != nil {
		return Reference{}, fmt.Errorf("the URL of repository %s contains a user name; to set user name and password: helm repo add --username --password", parts[1])
	}
	if parsed.Host == "" || parsed.Scheme != schemeHTTP && parsed.Scheme != schemeHTTPS {
		return Reference{}, fmt.Errorf("repository %s has the URL %q; must be https://HOST/PATH", parts[1], known[i].URL)
	}
	return Reference{url: parsed, chart: parts[2], version: parts[3], repository: known[i]}, nil
}

// withRepository completes options by what is known of a named repository. What was given explicitly wins.
func (o Options) withRepository(entry *repo.Entry) Options {
	if entry == nil {
		return o
	}
	if o.Username == "" && o.Password == "" {
		o.Username, o.Password = entry.Username, entry.Password
		o.passCredentials = entry.PassCredentialsAll
	}
	if o.CAFile == "" {
		o.CAFile = entry.CAFile
	}
	o.certFile, o.keyFile = entry.CertFile, entry.KeyFile
	o.insecure = entry.InsecureSkipTLSverify
	return o
}
