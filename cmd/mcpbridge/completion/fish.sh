# Completion of mcpbridge for fish:  mcpbridge completion fish | source
function __mcpbridge_complete
    set -l given (commandline -opc)
    set -l program (string replace -r '^~(?=/)' "$HOME" -- $given[1])
    set -e given[1]
    set -l typed (commandline -ct)
    set -l last (string unescape -- "$typed"; or string trim -l -c "'\"" -- "$typed")
    for line in ($program __complete $given "$last" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$last"
            case ':folders'
                __fish_complete_directories "$last"
            case '*'
                echo $line
        end
    end
end
complete -c mcpbridge -f -a '(__mcpbridge_complete)'
