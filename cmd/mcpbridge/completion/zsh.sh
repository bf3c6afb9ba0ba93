#compdef mcpbridge
# Completion of mcpbridge for zsh:  source <(mcpbridge completion zsh)
# or, in a folder of $fpath:        mcpbridge completion zsh > _mcpbridge
_mcpbridge() {
	local line name about
	local -a given found
	given=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
	while IFS= read -r line; do
		case "$line" in
		:files | :folders)
			[[ "$PREFIX" == --*=* ]] && compset -P 1 '*='
			[[ "$line" == :files ]] && _files && return
			_files -/ && return
			;;
		*)
			name="${line%%$'\t'*}"
			about="${line#"$name"}"
			name="${name//\\/\\\\}"
			found+=("${name//:/\\:}${about/#$'\t'/:}")
			;;
		esac
	done < <("${(Q)words[1]/#\~/$HOME}" __complete "${given[@]}" 2>/dev/null)
	_describe -t values mcpbridge found
}
if [[ "${funcstack[1]}" == _mcpbridge ]]; then
	_mcpbridge "$@"
elif (($+functions[compdef])); then
	compdef _mcpbridge mcpbridge
else # compinit comes later, or not at all
	_mcpbridge_begin() {
		add-zsh-hook -d precmd _mcpbridge_begin
		(($+functions[compdef])) || { autoload -Uz compinit && compinit -i; }
		compdef _mcpbridge mcpbridge
	}
	autoload -Uz add-zsh-hook && add-zsh-hook precmd _mcpbridge_begin
fi
