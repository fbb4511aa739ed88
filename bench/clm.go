// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/internal/requests"
)

// A tool is clm as a user has it: a program that is started for each command.
type tool struct {
	*lab

	program    string
	folder     string
	kubeconfig string // of the API server itself
}

// commandLine measures clm with a release of as many ConfigMaps, from the start of the process to its end.
func commandLine(ctx context.Context, l *lab) ([]measured.Figure, error) {
	t, err := l.newTool()
	if err != nil {
		return nil, err
	}
	bare, err := l.connect("bare")
	if err != nil {
		return nil, err
	}
	if err := l.warm(ctx, bare); err != nil {
		return nil, err
	}
	var applies, repeats, deletions, applyLimits, removeLimits, used []time.Duration
	s := &stage{lab: l, bare: bare}
	err = s.repeat(ctx, func(name string, found limits) error {
		source, err := t.source(ctx, name)
		if err != nil {
			return err
		}
		var took [3]time.Duration
		var cpu time.Duration
		for i, args := range [][]string{{"apply", name, source}, {"apply", name, source}, {"delete", name}} {
			if err := t.settle(ctx); err != nil {
				return err
			}
			if took[i], cpu, err = t.run(ctx, t.kubeconfig, args...); err != nil {
				return err
			}
			if i == 1 {
				used = append(used, cpu)
			}
		}
		applies, repeats, deletions = append(applies, took[0]), append(repeats, took[1]), append(deletions, took[2])
		applyLimits, removeLimits = append(applyLimits, found.apply), append(removeLimits, found.remove)
		return nil
	})
	if err != nil {
		return nil, err
	}
	sent, err := t.count(ctx)
	if err != nil {
		return nil, err
	}
	return []measured.Figure{
		measured.Speed("500 objects, clm apply", applies, applyLimits).AtMost(measured.BarRatio, 1.6),
		measured.Latency("clm apply of the same again", repeats).AtMost(measured.BarValue, 500),
		measured.Amount("its own processor time", measured.Median(measured.Milliseconds(used)), "ms"),
		measured.Count("its lists of one kind, at most", mostLists(sent)).AtMost(measured.BarValue, 1).Noted("%s", oneLine(sent)),
		measured.Count("its writes", tally(sent, requests.Request.IsWrite)).Exactly(0),
		measured.Speed("500 objects, clm delete", deletions, removeLimits).AtMost(measured.BarRatio, 1.6),
	}, nil
}

// newTool finds the program, which is built beside that of the benchmark.
func (l *lab) newTool() (*tool, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("looking for clm: %w", err)
	}
	t := &tool{lab: l, program: filepath.Join(filepath.Dir(self), "clm")}
	if _, err := os.Stat(t.program); err != nil {
		return nil, fmt.Errorf("looking for clm, which make bench builds: %w", err)
	}
	if t.folder, err = os.MkdirTemp("", "bench-clm-"); err != nil {
		return nil, err
	}
	l.atEnd(func() error { return os.RemoveAll(t.folder) })
	t.kubeconfig, err = t.writeKubeconfig("direct", &clientcmdapi.Cluster{
		Server: l.admin.Host, CertificateAuthority: l.admin.CAFile, CertificateAuthorityData: l.admin.CAData,
	}, &clientcmdapi.AuthInfo{
		ClientCertificate: l.admin.CertFile, ClientCertificateData: l.admin.CertData,
		ClientKey: l.admin.KeyFile, ClientKeyData: l.admin.KeyData, Token: l.admin.BearerToken,
	})
	return t, err
}

func (t *tool) writeKubeconfig(name string, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) (string, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[name], config.AuthInfos[name] = cluster, user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: t.namespace}
	config.CurrentContext = name
	path := filepath.Join(t.folder, name)
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return path, nil
}

// source writes the manifests of a release.
func (t *tool) source(ctx context.Context, name string) (string, error) {
	bundle := &bundles.Bundle{Spec: usual}
	objects, err := bundles.Generate(ctx, t.namespace, name, bundle.GetSpec())
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		if err != nil {
			return "", fmt.Errorf("encoding %s: %w", object.GetName(), err)
		}
		text.WriteString("---\n")
		text.Write(document)
	}
	path := filepath.Join(t.folder, name+".yaml")
	return path, os.WriteFile(path, text.Bytes(), 0o600)
}

// run returns how long a command took, and how much processor time it needed.
func (t *tool) run(ctx context.Context, kubeconfig string, args ...string) (took, cpu time.Duration, err error) {
	command := exec.CommandContext(ctx, t.program, append(args, "--yes", "--kubeconfig", kubeconfig)...)
	var messages strings.Builder
	command.Stderr = &messages
	started := time.Now()
	if err := command.Run(); err != nil {
		return 0, 0, fmt.Errorf("clm %s: %w: %s", strings.Join(args, " "), err, messages.String())
	}
	return time.Since(started), command.ProcessState.UserTime() + command.ProcessState.SystemTime(), nil
}

// count returns what a command asks for that has nothing to do. What counts the requests takes time, so this is not measured.
func (t *tool) count(ctx context.Context) (sent []requests.Request, err error) {
	target, err := url.Parse(t.admin.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(t.admin)
	if err != nil {
		return nil, fmt.Errorf("connecting a proxy: %w", err)
	}
	recorder := &requests.Recorder{}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport:     recorder.Wrap(transport),
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1, // watches are streams
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	defer func() {
		server.CloseClientConnections()
		server.Close()
	}()
	proxied, err := t.writeKubeconfig("proxied", &clientcmdapi.Cluster{Server: server.URL}, &clientcmdapi.AuthInfo{})
	if err != nil {
		return nil, err
	}
	name := t.name + "-counted"
	source, err := t.source(ctx, name)
	if err != nil {
		return nil, err
	}
	_, _, err = t.run(ctx, t.kubeconfig, "apply", name, source)
	if err == nil {
		_, _, err = t.run(ctx, proxied, "apply", name, source)
		sent = recorder.All()
	}
	_, _, deletion := t.run(ctx, t.kubeconfig, "delete", name)
	return sent, errors.Join(err, deletion)
}

// mostLists returns how often the kind was listed that was listed most often. A watch begins with a list.
func mostLists(list []requests.Request) int {
	most, lists := 0, map[string]int{}
	for _, r := range list {
		if r.Resource != "" && r.Name == "" && !r.IsWrite() {
			lists[r.Group+"/"+r.Resource]++
			most = max(most, lists[r.Group+"/"+r.Resource])
		}
	}
	return most
}
