// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/registry"
)

// registryConfigVariable is the environment variable with the path of Helm's registry credentials.
const registryConfigVariable = "HELM_REGISTRY_CONFIG"

// pull fetches a chart from a registry.
func (f *fetcher) pull(reference Reference) (File, error) {
	host := reference.url.Host
	client, err := f.registryClient(reference.url)
	if err != nil {
		return File{}, fmt.Errorf("reading credentials for registries: %w", err)
	}
	name := host + reference.url.Path
	if reference.suffix == "" {
		tag, err := findTag(client, name, reference.version)
		if err != nil {
			return File{}, refused(host, 0, err)
		}
		reference.suffix = ":" + tag
	}
	pulled, err := client.Pull(name+reference.suffix, registry.PullOptWithChart(true), registry.PullOptWithProv(f.options.provenance))
	if err != nil {
		return File{}, refused(host, 0, fmt.Errorf("pulling %s%s: %w", name, reference.suffix, err))
	}
	meta := pulled.Chart.Meta
	file := File{Name: fmt.Sprintf("%s-%s.tgz", meta.Name, meta.Version), Content: pulled.Chart.Data, version: meta.Version}
	if f.options.provenance {
		file.provenance = pulled.Prov.Data
	}
	return file, nil
}

func (f *fetcher) registryClient(own *url.URL) (*registry.Client, error) {
	options := []registry.ClientOption{
		registry.ClientOptHTTPClient(f.client),
		registry.ClientOptEnableCache(true),
		registry.ClientOptCredentialsFile(os.Getenv(registryConfigVariable)),
	}
	if username, password := f.credentials(own); username != "" || password != "" {
		options = append(options, registry.ClientOptBasicAuth(username, password))
	}
	if f.options.PlainHTTP {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	return registry.NewClient(options...)
}

// findTag returns the tag of a version. It lists the tags only if there is a choice.
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
			return "", fmt.Errorf("all versions are pre-releases; specify one of %s", some(versions))
		}
		return "", fmt.Errorf("there is no version %s; available versions: %s", wanted, some(versions))
	}
	return found, nil
}

// maxNamed is how many versions messages list.
const maxNamed = 10

// some returns the first versions, which are the newest.
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
